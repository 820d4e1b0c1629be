/**
 * Exact totals, updated in the transaction that changes the rows (§7.9). Each scope and collection
 * has one counter, split into slots so that concurrent writers do not queue for one row.
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
 * Adds `difference`, which may be negative, to a total. `spread`: a number that differs between
 * writers, for example a row id; it selects the slot.
 */
export async function addToTotal(
  tx: Tx,
  slots: number,
  scope: number,
  collection: string,
  spread: number,
  difference: number,
): Promise<void> {
  await tx.run(change([scope, collection, spread % slots, difference]))
}

export async function readTotal(
  reader: Reader,
  scope: number,
  collection: string,
): Promise<number> {
  const row = await reader.get<{ total: number | string | null }>(sum([scope, collection]))
  return Number(row?.total ?? 0) // SQLite returns null for no rows
}
