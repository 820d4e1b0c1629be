/** Ends everything in which a person is signed in (§4.5, §6.9), alone or with a new password. */

import type { Scope } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { deletePasskeysOf, listPasskeys } from './passkey-store.ts'
import type { Directory } from './person.ts'
import * as store from './store.ts'

export interface SignOutDeps {
  readonly tokens: Pick<Tokens, 'revokeSessionsOfPerson'>
  /** Called after the commit: evicts cached verifications of the person. */
  readonly evict: (id: number) => void
}

/**
 * Stores a locked credential and ends all sessions of its person, except `exceptSession`. Returns
 * the number of ended sessions. Authorization codes, sessions of the portal and of the sign-in
 * page, and tokens of mail belong to a revision of the credential, which ends here.
 */
export async function signOutEverywhere(
  tx: Tx,
  { tokens, evict }: SignOutDeps,
  credential: store.CredentialRow,
  exceptSession?: string,
): Promise<number> {
  const { id, scope } = credential
  await store.updateCredential(tx, credential)
  tx.afterCommit(() => evict(id))
  return tokens.revokeSessionsOfPerson(tx, scope as Scope, String(id), exceptSession)
}

/**
 * Stores the new password of a locked credential, and ends what the old one opened: the sessions
 * except `exceptSession`, and the passkeys, which someone who knew it may have added (§16.12).
 * Returns the number of passkeys that still sign in; undefined if the person had none.
 */
export async function replacePassword(
  tx: Tx,
  deps: SignOutDeps & { readonly directory: Pick<Directory, 'resource'> },
  credential: store.CredentialRow,
  password: string,
  { exceptSession, keepsPasskeys = false }: PasswordReplacement = {},
): Promise<number | undefined> {
  const { resource } = deps.directory
  await signOutEverywhere(tx, deps, { ...credential, password }, exceptSession)
  const { length } = await listPasskeys(tx, resource, credential.id)
  if (length === 0) return undefined
  if (keepsPasskeys) return length
  await deletePasskeysOf(tx, resource, credential.id)
  return 0
}

interface PasswordReplacement {
  readonly exceptSession?: string | undefined
  readonly keepsPasskeys?: boolean
}
