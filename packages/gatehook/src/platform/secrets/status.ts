/** Reports which master secret encrypts how many values, for `gatehook secrets status`. */
import { isoTime } from '../../kernel/time.ts'
import type { Database } from '../storage/database.ts'
import type { EncryptedColumn } from '../storage/encrypted-column.ts'
import { countValues } from './encrypted-columns.ts'
import { readState } from './state.ts'

export interface SecretStatus {
  /** The id of the active master secret. */
  readonly key_id: string
  /** Null unless a rotation is in progress. */
  readonly rotation: { readonly previous_key_id: string; readonly started_at: string } | null
  readonly values: readonly ValueCount[]
}

interface ValueCount {
  readonly table: string
  readonly column: string
  /** Null for values of a secret that was removed. */
  readonly key_id: string | null
  readonly count: number
}

export async function readSecretStatus(
  db: Database,
  columns: readonly EncryptedColumn[],
): Promise<SecretStatus> {
  const { key_id, rotation } = (await readState(db))!
  const keyIds = rotation ? [key_id, rotation.previous_key_id] : [key_id]
  const counts = await Promise.all(columns.map((column) => countByKey(db, column, keyIds)))
  return {
    key_id,
    rotation: rotation
      ? { previous_key_id: rotation.previous_key_id, started_at: isoTime(rotation.started_at) }
      : null,
    values: counts.flat(),
  }
}

/** Returns a count for the active key, and for each other key that has values. */
async function countByKey(
  db: Database,
  encrypted: EncryptedColumn,
  keyIds: readonly string[],
): Promise<ValueCount[]> {
  const { table, column } = encrypted
  const { total, byKeyId } = await countValues(db, encrypted, keyIds)
  const others = byKeyId.reduce((rest, count) => rest - count, total)
  const counts = keyIds.map((key_id, at) => ({ table, column, key_id, count: byKeyId[at]! }))
  return [...counts, { table, column, key_id: null, count: others }].filter(
    ({ count }, at) => at === 0 || count > 0,
  )
}
