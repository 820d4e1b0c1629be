/**
 * One-time links to the portal (§12.2). An operator creates a link for a customer and a mode; its
 * scopes bound everything that the session does. The secret is in the fragment of the URL, which
 * browsers do not send to a server, and is stored as SHA-256.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { type Administration, isInstallationScope } from '../../identity/access/administration.ts'
import { mode } from '../../identity/access/collections.ts'
import { customerIdOf } from '../../identity/access/customer-reader.ts'
import { makerColumns } from '../../identity/access/given-access.ts'
import { holdCustomerScope, MAX_SCOPES } from '../../identity/access/grant-validation.ts'
import { lockActingOperator } from '../../identity/people/operator-access.ts'
import { Failure } from '../../kernel/failure.ts'
import { createTimeOrderedId } from '../../kernel/id.ts'
import { type Principal, toStoredPrincipal } from '../../kernel/principal.ts'
import { sha256 } from '../../kernel/secret.ts'
import { isoTime } from '../../kernel/time.ts'
import { emailAddress } from '../../protocol/fields/email-address.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import * as store from './store.ts'

const NAME_MAX = 200
const URL_MAX = 2048
export const TOKEN_BYTES = 32
const LINK_LIFE_MS = 30 * 60_000
/** Links of a customer and mode that were not used and have not expired. */
const MAX_LINKS = 1000

/** A link in the only response that contains its URL. */
export const newPortalLink = b
  .object({
    id: b.text().example('plk_01jdq8w9vgk7'),
    url: b
      .text({ format: 'uri' })
      .describe('Opens one session within 30 minutes. Only this response contains it.')
      .example('https://api.example.com/portal#token=6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB'),
    customer: b.text().example('cus_01jdq8w9vgk7'),
    mode,
    can: b.list(b.text()).describe('The scopes of the session.').example(['webhooks:read']),
    email: b.text().nullable(),
    return_url: b.text({ format: 'uri' }).nullable(),
    expires_at: b.time(),
  })
  .named('NewPortalLink')

/** The absolute URL of a web page: a browser follows it, so no other scheme is accepted. */
const pageUrl = b
  .url(URL_MAX)
  .refine((text, reject) =>
    /^[^/]*\/\/[^/?#]*@/.test(text) ? reject('must contain no credentials') : text,
  )

export const portalLinkCreation = (admin: Pick<Administration, 'scopes'>) => ({
  customer: b.line(NAME_MAX).example('cus_01jdq8w9vgk7'),
  mode,
  can: b
    .set(b.oneOf([...admin.scopes].filter((scope) => !isInstallationScope(scope))), {
      min: 1,
      max: MAX_SCOPES,
    })
    .describe('The scopes of the session.')
    .example(['webhooks:read']),
  email: emailAddress.nullable().optional().describe('The name of the session in the audit trail.'),
  return_url: pageUrl.nullable().optional().describe('The page to which the portal links back.'),
})

/**
 * Creates a link, which opens one session within 30 minutes. Throws 422, 409 `limit_reached`.
 */
export async function createPortalLink(
  admin: Administration,
  publicUrl: string,
  { can, mode, ...values }: ValuesOf<ReturnType<typeof portalLinkCreation>>,
  { actor, principal }: { readonly actor: Actor; readonly principal: Principal },
): Promise<JsonOf<typeof newPortalLink>> {
  const customer = await customerIdOf(admin.db, values.customer)
  const token = admin.random.bytes(TOKEN_BYTES).toString('base64url')
  const now = admin.clock.now()
  const id = createTimeOrderedId('plk_', now, admin.random)
  const grant = {
    customer,
    mode,
    email: values.email ?? null,
    return_url: values.return_url ?? null,
  }
  const expires_at = now + LINK_LIFE_MS
  return admin.write(async (tx) => {
    const scope = await holdCustomerScope(tx, customer, mode)
    if ((await store.countLinks(tx, scope, now)) >= MAX_LINKS) {
      const bound = `A customer has at most ${MAX_LINKS} unused links per mode.`
      throw new Failure('limit_reached', `${bound} Revoke some first.`)
    }
    await lockActingOperator(tx, principal)
    const maker = toStoredPrincipal(principal)
    await store.insertLink(tx, {
      ...{ id, scope, ...grant, can: JSON.stringify(can), created_at: now, expires_at },
      ...{ hash: sha256(token), maker: JSON.stringify(maker), ...makerColumns(maker) },
    })
    const detail = { customer, mode, can, email: grant.email }
    await recordAudit(tx, { actor, action: 'portal_link.create', target: id, scope, detail }, admin)
    const url = `${publicUrl}/portal#token=${token}`
    return { id, url, ...grant, can, expires_at: isoTime(expires_at) }
  })
}

/** Revokes a link and ends the session that it opened. Throws 404 if there is neither. */
export const revokePortalLink = (admin: Administration, id: string, actor: Actor): Promise<void> =>
  admin.write(async (tx) => {
    const count = (await store.deleteLink(tx, id)) + (await store.deleteSessionOfLink(tx, id))
    if (count === 0) throw new Failure('not_found')
    await recordAudit(tx, { actor, action: 'portal_link.revoke', target: id }, admin)
  })
