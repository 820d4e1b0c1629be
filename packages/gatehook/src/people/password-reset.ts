/**
 * Password reset by mail (§4.10), in the order in which it happens:
 *
 * 1. `requestPasswordReset` enqueues a mail for an address, with or without an account.
 * 2. `passwordResetTemplates` finds the account and sends a token, bound to its credential.
 * 3. `resetPassword` exchanges the token for a new password, and ends all sessions.
 */
import { actorOf, recordAudit } from '../audit/store.ts'
import { readMembers } from '../fields/body.ts'
import { type Answer, type Call, noContent } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { MailTemplates } from '../mail/mailer.ts'
import {
  type AccountMailDeps,
  type AddressedInput,
  acceptMailRequest,
  invalidMailToken,
  type TokenInput,
} from './account-mail.ts'
import { formatAccountKey } from './login.ts'
import { type MailWording, writeMail } from './mail-texts.ts'
import {
  deleteMailTokens,
  findMailToken,
  insertMailToken,
  TOKEN_LIFE_MINUTES,
  takeMailToken,
} from './mail-tokens.ts'
import { MIN_LENGTH, newPassword, rejectCommonPassword } from './password-policy.ts'
import { replacePassword } from './person-administration.ts'
import * as store from './store.ts'
import { foldName } from './username.ts'

const newMembers = { password: newPassword(MIN_LENGTH.person) }
const validMinutes = TOKEN_LIFE_MINUTES

/** Handles `POST /auth/password/forgot`. */
export const requestPasswordReset = (
  call: Call,
  { email }: AddressedInput,
  deps: AccountMailDeps,
): Promise<Answer> =>
  acceptMailRequest(call, deps, email, 'password_reset', { folded: foldName(email) })

/** Creates the mails of password resets. */
export function passwordResetTemplates(deps: AccountMailDeps, wording: MailWording): MailTemplates {
  const { resource } = deps.context.directory
  return {
    async password_reset(tx, { folded }: { readonly folded: string }, nowMs) {
      const account = await store.findByName(tx, resource, folded)
      if (account?.disabled !== 0 || account.suspended !== 0) return undefined
      const { id: person, revision, username: email } = account
      const purpose = 'password_reset'
      const row = { purpose, resource, folded, person, revision, body: null } as const
      const token = await insertMailToken(tx, deps.admin.random, row, nowMs)
      // To the stored address: another spelling may be another mailbox.
      return writeMail(wording, 'resetPassword', { email, token, validMinutes })
    },
    password_changed: async (_tx, { email }: { readonly email: string }) =>
      writeMail(wording, 'passwordChanged', { email, validMinutes }),
  }
}

/** Handles `POST /auth/password/reset`. */
export async function resetPassword(
  call: Call,
  input: TokenInput,
  { admin, outbox, context }: AccountMailDeps,
): Promise<Answer> {
  const { password } = readMembers({ password: input.password }, newMembers)
  const { resource } = context.directory
  const { db, clock } = admin
  const grant = await findMailToken(db, 'password_reset', resource, input.token, clock.now())
  const account = grant && (await store.findById(db, resource, grant.person!))
  // A new password, name, role or scope changes the revision.
  if (!account || account.revision !== grant.revision) throw invalidMailToken()
  if (account.suspended !== 0) throw new Failure('customer_suspended')
  const { id, username } = account
  await rejectCommonPassword(password, username, '/password')
  const hash = await context.hasher.hash(password, formatAccountKey('person', username))
  await db.write(async (tx) => {
    if ((await takeMailToken(tx, input.token, clock.now())) === 0) throw invalidMailToken()
    const credential = await store.lockCredential(tx, resource, id)
    if (credential?.revision !== grant.revision || credential.disabled !== 0) {
      throw invalidMailToken()
    }
    await replacePassword(tx, context, credential, hash)
    await deleteMailTokens(tx, resource, grant.folded)
    await outbox.enqueue(tx, 'password_changed', { email: username })
    const target = String(id)
    const actor = actorOf(call, { kind: 'person', id: target, name: username })
    await recordAudit(tx, { actor, action: 'person.password_reset', target }, admin)
  })
  return noContent()
}
