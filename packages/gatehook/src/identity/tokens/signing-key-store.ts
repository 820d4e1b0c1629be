/** SQL of signing keys. Their content is `signing-keys.ts`. */
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { claimSetting, deleteSetting, lockSetting } from '../../platform/storage/settings.ts'
import { insertInto, sql } from '../../platform/storage/sql.ts'

/** A setting whose row the first key inserts, and that later keys lock. */
const LOCK_SETTING = 'signing_key'

export interface SigningKeyRow extends Row {
  readonly kid: string
  readonly public_jwk: string
  readonly encrypted_private_jwk: Uint8Array
  readonly rsa_public_jwk: string
  readonly encrypted_rsa_jwk: Uint8Array
  readonly assertion_public_jwk: string
  readonly encrypted_assertion_jwk: Uint8Array
  /** Epoch milliseconds. */
  readonly created_at: number
  /** Epoch milliseconds. */
  readonly signs_from: number
}

/** Reserves the insertion of the first key; false if another process has reserved it. */
export const claimFirstKey = (tx: Tx, kid: string): Promise<boolean> =>
  claimSetting(tx, LOCK_SETTING, kid)

/** Prevents other transactions from adding a key until this one ends. */
export const lockSigningKeys = (tx: Tx) => lockSetting(tx, LOCK_SETTING)

/** Returns all keys in the order in which they sign, oldest first. */
export const listSigningKeys = (from: Reader) =>
  from.all<SigningKeyRow>(sql`SELECT kid, public_jwk, encrypted_private_jwk, rsa_public_jwk,
    encrypted_rsa_jwk, assertion_public_jwk, encrypted_assertion_jwk, created_at, signs_from
    FROM gh_signing_keys ORDER BY signs_from, created_at, kid`)

export const insertSigningKey = (tx: Tx, row: SigningKeyRow) =>
  tx.run(insertInto('gh_signing_keys', row))

export const deleteAllKeys = (tx: Tx) => tx.run(sql`DELETE FROM gh_signing_keys`)

/** Deletes keys whose successor has signed since `beforeMs` or longer. */
export const deleteRetiredKeys = (tx: Tx, beforeMs: number) =>
  tx.run(sql`DELETE FROM gh_signing_keys WHERE EXISTS (SELECT 1 FROM gh_signing_keys AS next
    WHERE next.signs_from > gh_signing_keys.signs_from AND next.signs_from <= ${beforeMs})`)

/** Deletes a key that no secret decrypts. Without any key, the next start creates the first one. */
export async function deleteLostKey(tx: Tx, kid: string): Promise<void> {
  await tx.run(sql`DELETE FROM gh_signing_keys WHERE kid = ${kid}`)
  const other = await tx.get(sql`SELECT 1 AS found FROM gh_signing_keys LIMIT 1`)
  if (!other) await deleteSetting(tx, LOCK_SETTING)
}
