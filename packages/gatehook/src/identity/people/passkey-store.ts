/** SQL of the passkeys of persons. */
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { insertInto, sql } from '../../platform/storage/sql.ts'
import type { CreatedPasskey } from './passkey-enrolment.ts'

export interface PasskeyRow extends Row, CreatedPasskey {
  readonly resource: string
  readonly person: number
  readonly scope: number
}

const selectPasskeys = (resource: string) => sql`SELECT id, resource, person, scope, credential,
  public_key, counter, transports, created_at FROM gh_passkeys WHERE resource = ${resource}`

export const listPasskeys = (from: Reader, resource: string, person: number) =>
  from.all<PasskeyRow>(sql`${selectPasskeys(resource)} AND person = ${person}`)

export const findPasskey = (from: Reader, resource: string, credential: string) =>
  from.get<PasskeyRow>(sql`${selectPasskeys(resource)} AND credential = ${credential}`)

/** Returns 0 if the credential is stored already. */
export const insertPasskey = (tx: Tx, row: PasskeyRow) =>
  tx.run(sql`${insertInto('gh_passkeys', row)} ON CONFLICT (credential) DO NOTHING`)

/** Stores a use; returns 0 if the passkey was deleted, or used meanwhile. */
export const usePasskey = (
  tx: Tx,
  { id, counter }: Pick<PasskeyRow, 'id' | 'counter'>,
  newCounter: number,
  now: number,
) =>
  tx.run(sql`UPDATE gh_passkeys SET counter = ${newCounter}, last_used_at = ${now}
    WHERE id = ${id} AND counter = ${counter}`)

/** Deletes a passkey of a person; returns 0 if there is none. */
export const deletePasskey = (
  tx: Tx,
  { id, resource, person }: Pick<PasskeyRow, 'id' | 'resource' | 'person'>,
) =>
  tx.run(sql`DELETE FROM gh_passkeys
    WHERE id = ${id} AND resource = ${resource} AND person = ${person}`)

export const deletePasskeysOf = (tx: Tx, resource: string, person: number) =>
  tx.run(sql`DELETE FROM gh_passkeys WHERE resource = ${resource} AND person = ${person}`)

/** Deletes a passkey that the audit trail says was deleted (§18.5). */
export const repeatPasskeyDeletion = (tx: Tx, id: string) =>
  tx.run(sql`DELETE FROM gh_passkeys WHERE id = ${id}`)
