/**
 * `POST /admin/operators/{id}/invitation`: mails an operator a one-time link to the console. The
 * link is created when the mail is sent, so that the queue contains no secret.
 */

import type { Actor } from '../../history/audit/actor.ts'
import { recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { MailTemplates } from '../../platform/mail/mailer.ts'
import { isMailAddress } from '../../platform/mail/message.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { AdminCaller, Administration } from '../access/administration.ts'
import * as store from './operator-store.ts'
import { insertConsoleLink, requirePassword } from './operators.ts'

const SENDER: Actor = { kind: 'system', id: 'mail' }

export const inviteOperation = operation('POST /admin/operators/:id/invitation', {
  id: 'invite_operator',
  summary: 'Mail an operator a link to the console',
  description: 'The link is valid once, for 30 minutes after the mail was sent.',
  headers: ['Idempotency-Key'],
  status: 202,
  errors: ['invalid_state'],
})

/** Enqueues the mail. Throws 409 `invalid_state` for a disabled operator, 404. */
export const inviteOperator = (
  admin: Administration,
  outbox: MailOutbox,
  id: string,
  { actor, maker }: Pick<AdminCaller, 'actor' | 'maker'>,
): Promise<undefined> =>
  admin.write(async (tx) => {
    const row = await store.lockOperatorById(tx, id)
    if (!row) throw new Failure('not_found')
    requirePassword(row)
    if (row.disabled !== 0) throw new Failure('invalid_state', 'The operator is disabled.')
    if (!isMailAddress(row.email)) {
      throw new Failure('invalid_state', 'The operator has no address that receives mail.')
    }
    await outbox.enqueue(tx, 'operator_link', {
      scope: undefined,
      payload: { email: row.email },
      maker,
    })
    await recordAudit(tx, { actor, action: 'operator.invite', target: row.id }, admin)
    return undefined
  })

interface InvitationDeps {
  readonly admin: Administration
  readonly service: string
  readonly publicUrl: () => string
}

const nameOf = (service: string) => service.replace(/[\x00-\x1f\x7f]+/g, ' ').slice(0, 100)

export const invitationTemplates = ({
  admin,
  service,
  publicUrl,
}: InvitationDeps): MailTemplates => ({
  async operator_link(tx, { email }: { readonly email: string }, _nowMs, maker) {
    const row = await store.lockOperator(tx, foldName(email))
    if (row?.disabled !== 0) return undefined
    const { path } = await insertConsoleLink(tx, admin, row.email, { actor: SENDER, maker })
    const name = nameOf(service)
    return {
      to: row.email,
      subject: `Sign in to the console of ${name}`,
      text:
        `This link opens the console of ${name} as ${row.email}, once, within 30 minutes:\n\n` +
        `${publicUrl()}${path}\n\nIf you expected no invitation, ignore this mail.\n`,
    }
  },
  operator_passkey_added: async (_tx, { email }: { readonly email: string }) => ({
    to: email,
    subject: `A passkey was added for the console of ${nameOf(service)}`,
    text:
      `A device can now sign in as ${email} to the console of ${nameOf(service)}.\n\n` +
      'If you did not add it, an administrator must set a new password: gatehook operators.\n',
  }),
})
