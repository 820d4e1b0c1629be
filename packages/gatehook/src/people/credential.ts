/**
 * What is kept beside a row that signs in: what it may be, how it is written and shown. The acts
 * are `creation.ts` and `acts.ts`.
 */
import type { Administration } from '../access/administration.ts'
import { findMisplacedAdmin } from '../access/grant-validation.ts'
import { invalidMembers } from '../kernel/members.ts'
import type { Scope } from '../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import type { Tokens } from '../tokens/api.ts'
import { unlessTaken } from './hooks.ts'
import type { Hasher } from './password.ts'
import { type AnyRow, type Directory, scopesOf } from './person.ts'
import * as store from './store.ts'
import { fold } from './username.ts'

/** How long a role or a name of a customer may be. */
export const WORD_MAX = 200

export interface ActDeps {
  readonly directory: Directory
  readonly hasher: Hasher
  readonly tokens: Pick<Tokens, 'revokeSessionsOfPerson'>
  /** What a person may do whom nobody gave scopes. */
  readonly defaultScopes: readonly string[]
  /** Told after the commit. */
  readonly changed: (id: number) => void
}

/** A person as `/admin` shows it: the row, and what is kept beside it. */
export type ShownPerson = AnyRow & {
  readonly id: number
  readonly role: string | null
  readonly scopes: readonly string[]
  readonly disabled: boolean
  readonly customer: string
  readonly mode: 'live' | 'test'
}

export const shown = (
  directory: Directory,
  row: AnyRow,
  kept: store.CredentialRow,
): ShownPerson => ({
  ...directory.show(row),
  id: kept.id,
  role: kept.role,
  scopes: scopesOf(kept),
  disabled: kept.disabled !== 0,
  customer: kept.customer,
  mode: kept.mode,
})

/** Only live people of the operator's own customer may carry it (§13). */
export function refuseAdmin(scopes: readonly string[], customer: string, mode: string): void {
  const misplaced = findMisplacedAdmin('people', scopes, customer, mode)
  if (misplaced) throw invalidMembers([misplaced])
}

export interface Wanted
  extends Pick<store.CredentialRow, 'customer' | 'mode' | 'password' | 'role'> {
  readonly scopes: readonly string[]
}

/** Throws 409 `conflict` for a name somebody has. */
export async function writeCredential(
  tx: Tx,
  { clock }: Administration,
  { directory, changed }: ActDeps,
  scope: Scope,
  row: AnyRow,
  wanted: Wanted,
): Promise<store.CredentialRow> {
  const { resource, username } = directory
  const name = row[username]
  if (typeof name !== 'string' || name === '') {
    const message = 'is needed to sign in'
    throw invalidMembers([{ pointer: `/${username}`, code: 'required', message }])
  }
  const kept = {
    ...wanted,
    resource,
    id: row.id as number,
    scope,
    username: name,
    folded: fold(name),
    scopes: JSON.stringify(wanted.scopes),
    created_at: clock.now(),
  }
  await unlessTaken(username, () => store.insertCredential(tx, kept))
  tx.afterCommit(() => changed(kept.id))
  return { ...kept, disabled: 0, revision: 1 }
}
