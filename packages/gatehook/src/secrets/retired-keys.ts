/**
 * MAC keys that outlive a rotation: what they have signed is in the hands of callers, or stored as
 * a hash, and cannot be signed again.
 */
import type { Vault } from '../kernel/secret.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { sql } from '../storage/sql.ts'

/** A purpose whose keys verify for some time after their master secret was rotated out. */
export interface RetiredPurpose {
  readonly purpose: string
  readonly keptMs: number
}

const PURPOSE = 'retired key'

export const sealedRetiredKeys: SealedColumn = {
  purpose: PURPOSE,
  table: 'gh_retired_keys',
  column: 'sealed',
  key: ['key_id', 'purpose'],
  rowOf: ([keyId, purpose]) => `${keyId} ${purpose}`,
}

/** Stores the keys that a master secret had for these purposes, under the active one. */
export async function retireKeys(
  tx: Tx,
  vault: Vault,
  keyId: string,
  purposes: readonly RetiredPurpose[],
  nowMs: number,
): Promise<void> {
  for (const { purpose, keptMs } of purposes) {
    const row = sealedRetiredKeys.rowOf([keyId, purpose])
    const sealed = vault.seal(PURPOSE, row, vault.keyUnder(keyId, purpose).export())
    await tx.run(sql`INSERT INTO gh_retired_keys (key_id, purpose, sealed, expires_at)
      VALUES (${keyId}, ${purpose}, ${sealed}, ${nowMs + keptMs})
      ON CONFLICT (key_id, purpose) DO UPDATE
      SET sealed = excluded.sealed, expires_at = excluded.expires_at`)
  }
}

interface RetiredRow {
  readonly key_id: string
  readonly purpose: string
  readonly sealed: Uint8Array
}

/** Lets the vault verify with the keys that have not expired. */
export async function acceptRetiredKeys(from: Reader, vault: Vault, nowMs: number): Promise<void> {
  const rows = await from.all<RetiredRow>(sql`SELECT key_id, purpose, sealed FROM gh_retired_keys
    WHERE expires_at > ${nowMs} ORDER BY key_id, purpose`)
  const byPurpose = new Map<string, Buffer[]>()
  for (const { key_id, purpose, sealed } of rows) {
    const row = sealedRetiredKeys.rowOf([key_id, purpose])
    if (vault.keyIdOf(PURPOSE, row, sealed) === undefined) continue // changed by somebody
    const key = vault.open(PURPOSE, row, sealed)
    byPurpose.set(purpose, [...(byPurpose.get(purpose) ?? []), key])
  }
  for (const [purpose, keys] of byPurpose) vault.acceptRetired(purpose, keys)
}

export const purgeRetiredKeys = (db: Database, nowMs: number): Promise<number> =>
  db.write((tx) => tx.run(sql`DELETE FROM gh_retired_keys WHERE expires_at <= ${nowMs}`))
