/** Which key encrypts how many values: what `gatehook secrets status` prints. */
import { isoTime } from '../kernel/time.ts'
import type { Database } from '../storage/database.ts'
import type { SealedColumn } from '../storage/sealed-column.ts'
import { countValues } from './sealed-store.ts'
import { readState } from './state.ts'

export interface SecretStatus {
  /** Of the master secret that encrypts. */
  readonly key_id: string
  /** Null while no rotation is under way. */
  readonly rotation: { readonly previous_key_id: string; readonly started_at: string } | null
  readonly values: readonly SealedCount[]
}

interface SealedCount {
  readonly table: string
  readonly column: string
  /** Null: written by a release before key ids, or under a secret that is long gone. */
  readonly key_id: string | null
  readonly count: number
}

export async function secretStatus(
  db: Database,
  columns: readonly SealedColumn[],
): Promise<SecretStatus> {
  const { key_id, rotation } = (await readState(db))!
  const keyIds = rotation ? [key_id, rotation.previous_key_id] : [key_id]
  const counts = await Promise.all(columns.map((column) => countsOf(db, column, keyIds)))
  return {
    key_id,
    rotation: rotation
      ? {
          previous_key_id: rotation.previous_key_id,
          started_at: isoTime(rotation.started_at),
        }
      : null,
    values: counts.flat(),
  }
}

async function countsOf(
  db: Database,
  sealed: SealedColumn,
  keyIds: readonly string[],
): Promise<SealedCount[]> {
  const { table, column } = sealed
  const { total, under } = await countValues(db, sealed, keyIds)
  const rest = under.reduce((left, count) => left - count, total)
  const counts = [...keyIds.map((key_id, at) => ({ key_id, count: under[at]! }))]
  const all = [...counts, { key_id: null, count: rest }]
  return all
    .filter(({ key_id, count }, at) => at === 0 || (key_id !== undefined && count > 0))
    .map(({ key_id, count }) => ({ table, column, key_id, count }))
}
