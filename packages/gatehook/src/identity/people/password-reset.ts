/**
 * Password reset by mail (§4.10), in the order in which it happens:
 *
 * 1. `requestPasswordReset` enqueues a mail for an address, with or without an account.
 * 2. `passwordResetTemplates` finds the account and sends a token, bound to its credential, if the
 *    address is confirmed.
 * 3. `resetPassword` exchanges the token for a new password, and ends all sessions.
 */

import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { MailTemplates } from '../../platform/mail/mailer.ts'
import { foldName } from '../../protocol/fields/folding.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import {
  type AccountMailDeps,
  type AddressedInput,
  acceptMailRequest,
  invalidMailToken,
  type MailedName,
  type TokenInput,
} from './account-mail.ts'
import { type MailWording, writeMail } from './mail-texts.ts'
import { exchangeMailToken } from './mail-token-exchange.ts'
import { insertMailToken, TOKEN_LIFE_MINUTES } from './mail-tokens.ts'
import { replacePassword } from './sign-out.ts'
import * as store from './store.ts'

const validMinutes = TOKEN_LIFE_MINUTES

/** Handles `POST /auth/password/forgot`. */
export const requestPasswordReset = (
  call: Call,
  { email, ...place }: AddressedInput,
  deps: AccountMailDeps,
): Promise<Answer> =>
  acceptMailRequest(call, deps, email, place, 'password_reset', { folded: foldName(email) })

/** Creates the mails of password resets. */
export function passwordResetTemplates(deps: AccountMailDeps, wording: MailWording): MailTemplates {
  const { resource } = deps.context.directory
  return {
    async password_reset(tx, { folded, namespace }: MailedName, nowMs) {
      const account = await store.findByName(tx, resource, namespace, folded)
      if (account?.disabled !== 0 || account.suspended !== 0) return undefined
      // §6.9: a key that writes rows can have chosen the address.
      if (account.confirmed === 0) return undefined
      const { id: person, revision, username: email } = account
      const purpose = 'password_reset'
      const row = { purpose, resource, folded, namespace, person, revision, body: null } as const
      const token = await insertMailToken(tx, deps.admin.random, row, nowMs)
      // To the stored address: another spelling may be another mailbox.
      return writeMail(wording, 'resetPassword', { email, token, validMinutes })
    },
  }
}

/** Handles `POST /auth/password/reset`. */
export function resetPassword(
  call: Call,
  input: TokenInput,
  deps: AccountMailDeps,
): Promise<Answer> {
  const { admin, outbox, context } = deps
  const { resource } = context.directory
  return exchangeMailToken(input, deps, {
    purpose: 'password_reset',
    async nameOf({ person, revision }) {
      const account = await store.findById(admin.db, resource, person!)
      // A new password, name, role or scope changes the revision.
      if (!account || account.revision !== revision) throw invalidMailToken()
      if (account.suspended !== 0) throw new Failure('customer_suspended')
      return account.username
    },
    async change(tx, { person, revision }, hash) {
      const credential = await store.lockCredential(tx, resource, person!)
      if (credential?.revision !== revision || credential.disabled !== 0) {
        throw invalidMailToken()
      }
      const { username, scope } = credential
      const passkeys = await replacePassword(tx, context, credential, hash)
      await store.confirmName(tx, credential)
      await outbox.enqueue(tx, 'password_changed', {
        scope: scope as Scope,
        payload: { email: username, passkeys },
      })
      const target = String(person)
      const actor = actorOf(call, { kind: 'person', id: target, name: username, scope })
      await recordAudit(tx, { actor, action: 'person.password_reset', target }, admin)
    },
  })
}
