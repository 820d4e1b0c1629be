/** The operations of the portal's session, keys, health, errors and applications (§12.2). */
import type { Administration } from '../../identity/access/administration.ts'
import { mode } from '../../identity/access/collections.ts'
import {
  keyColumns,
  keyCreation,
  keyMembers,
  newApiKey,
} from '../../identity/access/key-members.ts'
import { overlapEnd } from '../../identity/access/listed-keys.ts'
import { rotationInput } from '../../identity/access/secret-store.ts'
import { type NameReach, placeErrors, placeMembersFor } from '../../identity/people/namespace.ts'
import { signInName, signInToken } from '../../identity/people/sign-in-bounds.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

const sectionAccess = b.oneOf(['write', 'read', 'hidden']).example('write')

const portalSession = b
  .object({
    id: b.text().example('pss_01jdq8w9vgk7'),
    customer: b.object({
      id: b.text().example('cus_01jdq8w9vgk7'),
      name: b.text().example('Acme GmbH'),
    }),
    mode,
    signed_in: b.object({
      kind: b.oneOf(['link', 'person']),
      name: b.text().nullable().describe('The e-mail address of the link or the person.'),
    }),
    scopes: b.list(b.text()).describe('The scopes of the session.').example(['keys:read']),
    key_scopes: b.list(b.text()).describe('The scopes that a key created here can carry.'),
    sections: b
      .object({ keys: sectionAccess, webhooks: sectionAccess, events: sectionAccess })
      .describe('The access to each part of the portal.'),
    sees_all_rows: b.bool().describe('False for a person who sees only own rows.'),
    return_url: b.text({ format: 'uri' }).nullable(),
    expires_at: b.time(),
  })
  .named('PortalSession')

export type PortalSessionJson = JsonOf<typeof portalSession>

/** @param names where a sign-in name is unique */
export const sessionOperations = (names: NameReach) => ({
  open: operation('POST /portal/session', {
    id: 'open_portal_session',
    summary: 'Open a session of the portal',
    description: 'Send the token of a link, or the name and the password of a person.',
    input: {
      token: signInToken.optional().describe('The text after `#token=` in the URL of a link.'),
      username: signInName.optional(),
      password: b.text({ format: 'password' }).optional(),
      ...placeMembersFor(names),
    },
    inputExample: { token: '6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB' },
    bodyCode: 'invalid_request',
    output: portalSession,
    status: 201,
    isSecret: true,
    errors: [...placeErrors(names), 'invalid_credentials', 'customer_suspended', 'forbidden'],
  }),
  read: operation('GET /portal/session', {
    id: 'get_portal_session',
    summary: 'Read the session of the portal',
    output: portalSession,
    errors: ['customer_suspended', 'forbidden'],
  }),
  close: operation('DELETE /portal/session', {
    id: 'close_portal_session',
    summary: 'End the session of the portal',
    errors: ['forbidden'],
  }),
})

export const portalKey = b
  .object({ ...keyMembers, overlap_ends_at: overlapEnd })
  .named('PortalApiKey')
  .columns({ ...keyColumns, overlap_ends_at: { title: 'old secret ends', none: '' } })

export const portalKeyOperations = (admin: Pick<Administration, 'scopes' | 'versions'>) => {
  const { customer: _, mode: __, ...input } = keyCreation(admin)
  return {
    list: operation('GET /portal/api/keys', {
      id: 'list_portal_keys',
      summary: 'List the API keys of the customer',
      output: b.page(portalKey),
    }),
    create: operation('POST /portal/api/keys', {
      id: 'create_portal_key',
      summary: 'Create an API key',
      description: 'The key carries only scopes that the session grants.',
      input,
      headers: ['Idempotency-Key'],
      output: newApiKey,
      status: 201,
      location: '/portal/api/keys/{id}',
      isSecret: true,
      errors: ['insufficient_scope', 'limit_reached'],
    }),
    revoke: operation('DELETE /portal/api/keys/:id', {
      id: 'revoke_portal_key',
      summary: 'Revoke an API key at once',
      headers: ['Idempotency-Key'],
    }),
    roll: operation('POST /portal/api/keys/:id/roll', {
      id: 'roll_portal_key',
      summary: 'Generate a new secret for an API key',
      input: rotationInput,
      body: 'optional',
      headers: ['Idempotency-Key'],
      output: newApiKey,
      isSecret: true,
      errors: ['insufficient_scope', 'invalid_state', 'limit_reached'],
    }),
  }
}
