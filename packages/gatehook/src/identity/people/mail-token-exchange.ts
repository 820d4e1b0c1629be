/**
 * The exchange of a mail's token for a new password, which sign-up (§4.9) and password reset
 * (§4.10) share: the server reads the token, hashes the password outside the transaction, and uses
 * the token in the transaction of the change.
 */

import type { Tx } from '../../platform/storage/database.ts'
import { readMembers } from '../../protocol/fields/body.ts'
import { type Answer, noContent } from '../../protocol/http/call.ts'
import { type AccountMailDeps, invalidMailToken, type TokenInput } from './account-mail.ts'
import { personAccountKey } from './login.ts'
import { deleteMailTokens, findMailToken, type MailTokenRow, takeMailToken } from './mail-tokens.ts'
import { namespaceAt } from './namespace.ts'
import { MIN_LENGTH, newPassword, rejectCommonPassword } from './password-policy.ts'

const newMembers = { password: newPassword(MIN_LENGTH.person) }

interface TokenExchange {
  readonly purpose: MailTokenRow['purpose']
  /** Returns the sign-in name of the token. Throws for a token that is no longer valid. */
  readonly nameOf: (grant: MailTokenRow) => string | Promise<string>
  /** Stores the account or its password, in the transaction that uses the token. */
  readonly change: (tx: Tx, grant: MailTokenRow, hash: string) => Promise<void>
}

/** Throws 422 for the password, 401 for the token; of concurrent requests one succeeds. */
export async function exchangeMailToken(
  { token, password: text }: TokenInput,
  { admin: { db, clock }, context }: AccountMailDeps,
  { purpose, nameOf, change }: TokenExchange,
): Promise<Answer> {
  const { password } = readMembers({ password: text }, newMembers)
  const { resource } = context.directory
  const grant = await findMailToken(db, purpose, resource, token, clock.now())
  if (!grant) throw invalidMailToken()
  const name = await nameOf(grant)
  await rejectCommonPassword(password, name, '/password')
  const hash = await context.hasher.hash(
    password,
    personAccountKey(namespaceAt(grant.namespace), name),
  )
  await db.write(async (tx) => {
    if ((await takeMailToken(tx, token, clock.now())) === 0) throw invalidMailToken()
    await change(tx, grant, hash)
    await deleteMailTokens(tx, grant)
  })
  return noContent()
}
