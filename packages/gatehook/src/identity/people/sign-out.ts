/** Ends everything in which a person is signed in (§4.5, §6.9). */

import type { Scope } from '../../kernel/principal.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
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
