/**
 * MAC keys that outlive a rotation of the master secret. Callers hold their HMACs, or the database
 * stores them as hashes: a rotation cannot compute them again.
 */
import type { Vault } from '../../kernel/secret.ts'
import type { Reader, Tx } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import { RETIRED_KEY_PURPOSE, retiredKeyRow } from './tables.ts'

/** A purpose whose keys still verify HMACs after a rotation. */
export interface RetiredPurpose {
  readonly purpose: string
  readonly retentionMs: number
}

/** Stores the keys derived from one master secret, encrypted under the active one. */
export async function retireKeys(
  tx: Tx,
  vault: Vault,
  keyId: string,
  purposes: readonly RetiredPurpose[],
  nowMs: number,
): Promise<void> {
  for (const { purpose, retentionMs } of purposes) {
    const row = retiredKeyRow(keyId, purpose)
    const encryptedKey = vault.encrypt(
      RETIRED_KEY_PURPOSE,
      row,
      vault.retiringKey(keyId, purpose).export(),
    )
    await tx.run(sql`INSERT INTO gh_retired_keys (key_id, purpose, encrypted, expires_at)
      VALUES (${keyId}, ${purpose}, ${encryptedKey}, ${nowMs + retentionMs})
      ON CONFLICT (key_id, purpose) DO UPDATE
      SET encrypted = excluded.encrypted, expires_at = excluded.expires_at`)
  }
}

interface RetiredKeyRow {
  readonly key_id: string
  readonly purpose: string
  readonly encrypted: Uint8Array
}

/** Lets the vault verify HMACs with the retired keys that have not expired. */
export async function acceptRetiredKeys(from: Reader, vault: Vault, nowMs: number): Promise<void> {
  const rows =
    await from.all<RetiredKeyRow>(sql`SELECT key_id, purpose, encrypted FROM gh_retired_keys
    WHERE expires_at > ${nowMs} ORDER BY key_id, purpose`)
  for (const [purpose, ofPurpose] of Map.groupBy(rows, (row) => row.purpose)) {
    const keys = ofPurpose.flatMap(({ key_id, encrypted }) => {
      const row = retiredKeyRow(key_id, purpose)
      const isGenuine = vault.findKeyId(RETIRED_KEY_PURPOSE, row, encrypted) !== undefined
      return isGenuine ? [vault.decrypt(RETIRED_KEY_PURPOSE, row, encrypted)] : []
    })
    if (keys.length > 0) vault.acceptRetiredKeys(purpose, keys)
  }
}

export const deleteRetiredKey = (tx: Tx, keyId: string, purpose: string): Promise<number> =>
  tx.run(sql`DELETE FROM gh_retired_keys WHERE key_id = ${keyId} AND purpose = ${purpose}`)
