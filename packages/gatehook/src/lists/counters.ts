/**
 * Exact totals, kept in the transaction that changes them (§7.9): one row per scope and collection,
 * in slots where writers would otherwise queue on it.
 */
import type { Reader, Tx } from '../storage/database.ts'
import { prepareStatement } from '../storage/sql.ts'

const change = prepareStatement(
  `INSERT INTO gh_counters (scope, collection, slot, total) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, collection, slot) DO UPDATE SET total = gh_counters.total + excluded.total`,
)
const sum = prepareStatement(
  'SELECT sum(total) AS total FROM gh_counters WHERE scope = ? AND collection = ?',
)

/**
 * Adds `by` (may be negative). `spread`: any number that differs from writer to writer, a row id.
 */
export async function count(
  tx: Tx,
  slots: number,
  scope: number,
  collection: string,
  spread: number,
  by: number,
): Promise<void> {
  await tx.run(change([scope, collection, spread % slots, by]))
}

export async function total(reader: Reader, scope: number, collection: string): Promise<number> {
  const row = await reader.get<{ total: number | string | null }>(sum([scope, collection]))
  return Number(row?.total ?? 0) // PostgreSQL's sum of bigint is numeric, which arrives as text
}
