/** `POST /auth/password`: a person changes their own password (§4.3). */

import { actorOf, recordAudit } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { MailOutbox } from '../../platform/mail/outbox.ts'
import { readMembers } from '../../protocol/fields/body.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import { type Answer, type Call, noContent } from '../../protocol/http/call.ts'
import type { Administration } from '../access/administration.ts'
import type { Devices } from './devices.ts'
import { peopleAccounts, personAccountKey, type VerifyPassword } from './login.ts'
import { namespaceOf } from './namespace.ts'
import { MIN_LENGTH, newPassword, rejectCommonPassword } from './password-policy.ts'
import type { Directory } from './person.ts'
import type { PersonContext } from './person-administration.ts'
import type { OwnPasswordInput } from './sign-in-operations.ts'
import { replacePassword } from './sign-out.ts'
import * as store from './store.ts'
import { invalidCredentials } from './username.ts'

export interface OwnPasswordDeps {
  readonly admin: Administration
  readonly devices: Devices
  readonly verifyPassword: VerifyPassword
  readonly outbox: MailOutbox
  readonly context: PersonContext
}

const newMembers = { new: newPassword(MIN_LENGTH.person) }

/** Returns whether a mail reports a new password: the sign-in name is an address. */
export const reportsPasswords = ({ hasMailNames, hasPasswordReset }: Directory): boolean =>
  hasMailNames || hasPasswordReset

/**
 * Handles the request; the other sessions and the passkeys of the person end. `route-table.ts`
 * accepts persons in a first-party session only.
 */
export async function changeOwnPassword(
  call: Call,
  body: OwnPasswordInput,
  { admin, devices, verifyPassword, outbox, context }: OwnPasswordDeps,
): Promise<Answer> {
  const { new: password } = readMembers({ new: body.new }, newMembers)
  const { subject, sessionId } = call.principal!
  const id = Number(subject)
  const { db } = admin
  const { resource } = context.directory
  const account = await store.findById(db, resource, id)
  if (!account) throw new Failure('forbidden')
  const { username } = account
  const namespace = namespaceOf(context.directory.names, account.scope as Scope)
  const accounts = peopleAccounts(db, resource, namespace)
  const client = devices.clientOf(call)
  const { revision } = await verifyPassword(accounts, username, body.current, client)
  await rejectCommonPassword(password, username, '/new')
  const hash = await context.hasher.hash(password, personAccountKey(namespace, username))
  await writeFor(
    call,
    db,
  )(async (tx) => {
    const credential = await store.lockCredential(tx, resource, id)
    if (credential?.revision !== revision) throw invalidCredentials()
    const keepsPasskeys = body.keep_passkeys === true
    const exceptions = { exceptSession: sessionId, keepsPasskeys }
    const passkeys = await replacePassword(tx, context, credential, hash, exceptions)
    if (reportsPasswords(context.directory)) {
      const payload = { email: credential.username, passkeys }
      await outbox.enqueue(tx, 'password_changed', { scope: credential.scope as Scope, payload })
    }
    const detail = keepsPasskeys ? { kept_passkeys: true } : {}
    const entry = { actor: actorOf(call), action: 'person.password', target: subject, detail }
    await recordAudit(tx, entry, admin)
  })
  return noContent()
}
