/**
 * `POST /admin/versions/{v}/notices`: mails the contacts of the customers that call a version, or
 * that have an endpoint pinned to it. A preview returns the recipients and sends nothing.
 */

import { selectCustomersCalling } from '../../declare/versions/usage-reader.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { type AdminDeps, adminHandlers } from '../../identity/access/admin-handlers.ts'
import type { AdminCaller, Administration } from '../../identity/access/administration.ts'
import {
  type CustomerContact,
  customerIdOf,
  listCustomersAmong,
} from '../../identity/access/customer-reader.ts'
import { Failure, type FieldError } from '../../kernel/failure.ts'
import { scopeOf } from '../../kernel/principal.ts'
import { selectScopesPinnedTo } from '../../outbound/deliveries/endpoint-reader.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { invalidMembers } from '../../protocol/fields/body.ts'
import { b, type JsonOf, type ValuesOf } from '../../protocol/fields/members.ts'
import type { Route } from '../../protocol/http/call.ts'
import { operation } from '../../protocol/http/operation.ts'

/** Callers of the last days receive the notice. */
const PERIOD_DAYS = 30
const RECIPIENTS_MAX = 1000
const SUBJECT_MAX = 200
const TEXT_MAX = 10_000

const customer = b.text().example('cus_01jdq8w9vgk7')
const customer_name = b.text().example('Acme GmbH')

const contact = b
  .text()
  .describe('The e-mail address of the customer for questions of the API.')
  .example('api@acme.example')

const versionNotice = b
  .object({
    version: b.text().example('v1'),
    sent: b.bool().describe('False for a preview.').example(true),
    recipients: b
      .list(b.object({ customer, customer_name, contact }))
      .describe('The customers whose contact gets the mail.'),
    without_contact: b
      .list(b.object({ customer, customer_name }))
      .describe('Callers without an e-mail address that receives mail.'),
  })
  .named('VersionNotice')

const noticeInput = {
  to: b
    .set(b.line(100), { min: 1, max: RECIPIENTS_MAX })
    .optional()
    .describe('Ids of customers that call the version. Default: all of them.')
    .example(['default']),
  subject: b
    .line(SUBJECT_MAX)
    .describe(`One line of at most ${SUBJECT_MAX} characters.`)
    .example('v1 ends on 1 December'),
  text: b
    .text({ min: 1, max: TEXT_MAX })
    .describe('The text of the mail, without markup.')
    .example('Please move to v2.'),
  preview: b
    .bool()
    .optional()
    .describe('Returns the recipients, and sends nothing.')
    .example(false),
}

export const versionNoticeOperations = {
  send: operation('POST /admin/versions/:version/notices', {
    id: 'send_version_notice',
    summary: 'Mail the contacts of the callers of a version',
    description:
      `Callers of the last ${PERIOD_DAYS} days, and owners of endpoints pinned to the version. ` +
      'Each address gets one mail, with its own address only.',
    input: noticeInput,
    // `to` names callers only.
    inputExample: { subject: 'v1 ends on 1 December', text: 'Please move to v2.' },
    headers: ['Idempotency-Key'],
    output: versionNotice,
  }),
}

/** Returns the customers that call a version, one more than may receive a notice at most. */
const listCallers = (from: Reader, version: string, sinceMs: number) =>
  listCustomersAmong(from, {
    ids: selectCustomersCalling(version, sinceMs),
    scopes: selectScopesPinnedTo(version),
    limit: RECIPIENTS_MAX + 1,
  })

/** Returns the callers that the request names. Throws 422 for an id of no caller. */
function selectCallers(
  callers: readonly CustomerContact[],
  to: readonly string[] | undefined,
): readonly CustomerContact[] {
  if (!to) {
    if (callers.length <= RECIPIENTS_MAX) return callers
    const message = `is required: more than ${RECIPIENTS_MAX} customers call the version`
    throw invalidMembers([{ pointer: '/to', code: 'required', message }])
  }
  const byId = new Map(callers.map((caller) => [caller.id, caller]))
  const errors: FieldError[] = []
  for (const [index, id] of to.entries()) {
    if (byId.has(id)) continue
    const message = 'does not call the version'
    errors.push({ pointer: `/to/${index}`, code: 'invalid_value', message })
  }
  if (errors.length > 0) throw invalidMembers(errors)
  return to.map((id) => byId.get(id)!)
}

export interface VersionNoticeDeps extends AdminDeps {
  readonly admin: Administration
  readonly outbox: MailOutbox
  /** Stores the counts of versions. */
  readonly flushUsage: () => Promise<void>
}

export function versionNoticeRoutes(deps: VersionNoticeDeps): Route[] {
  const { change } = adminHandlers(deps.admin, deps)
  return [
    change(versionNoticeOperations.send, async ({ admin, params, input, caller }) => {
      const version = params.version!
      if (!deps.admin.versions.includes(version)) throw new Failure('not_found')
      await deps.flushUsage()
      return sendNotice(admin, deps.outbox, version, input, caller)
    }),
  ]
}

const sendNotice = (
  admin: Administration,
  outbox: MailOutbox,
  version: string,
  { to, subject, text, preview = false }: ValuesOf<typeof noticeInput>,
  { actor, maker }: AdminCaller,
): Promise<JsonOf<typeof versionNotice>> =>
  admin.write(async (tx) => {
    const sinceMs = admin.clock.now() - PERIOD_DAYS * 86_400_000
    const ids = to && (await Promise.all(to.map((name) => customerIdOf(tx, name))))
    const callers = selectCallers(await listCallers(tx, version, sinceMs), ids)
    const hasContact = ({ contact_email: contact }: CustomerContact) =>
      contact !== null && isMailAddress(contact)
    const recipients = callers.filter(hasContact)
    if (!preview) {
      const byAddress = new Map(recipients.map((row) => [row.contact_email!, row]))
      for (const [to, { no }] of byAddress) {
        const payload = { to, subject, text }
        await outbox.enqueue(tx, 'plain', { scope: scopeOf(no, 'live'), payload, maker })
      }
      const detail = { subject, customers: recipients.map(({ id }) => id) }
      await recordAudit(tx, { actor, action: 'version.notice', target: version, detail }, admin)
    }
    return {
      version,
      sent: !preview,
      recipients: recipients.map(({ id, name, contact_email }) => ({
        customer: id,
        customer_name: name,
        contact: contact_email!,
      })),
      without_contact: callers
        .filter((row) => !hasContact(row))
        .map(({ id, name }) => ({ customer: id, customer_name: name })),
    }
  })
