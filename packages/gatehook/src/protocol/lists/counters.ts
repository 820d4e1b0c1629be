/**
 * Exact totals, updated in the transaction that changes the rows (§7.9). Each scope and collection
 * has one counter, split into slots so that concurrent writers do not queue for one row.
 */
import type { RowId } from '../../kernel/row-id.ts'
import type { Reader, Tx } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'

const change = prepareStatement(
  `INSERT INTO gh_counters (scope, collection, slot, total) VALUES (?, ?, ?, ?)
   ON CONFLICT (scope, collection, slot) DO UPDATE SET total = gh_counters.total + excluded.total`,
)
const sum = prepareStatement(
  'SELECT sum(total) AS total FROM gh_counters WHERE scope = ? AND collection = ?',
)

/** SQL after FROM: one row, which the server of a scope reads if tables are distributed. */
export const SERVER_OF_SCOPE = '(SELECT count(*) FROM gh_counters WHERE scope = ?) AS place'

/**
 * Adds `difference`, which may be negative, to a total. `spread`: a number that differs between
 * writers, for example a row id; it selects the slot.
 */
export function addToTotal(
  tx: Tx,
  scope: number,
  collection: string,
  spread: RowId,
  difference: number,
): void {
  const slot = tx.counterSlot(numberOf(spread))
  const add = (sum: number) => change([scope, collection, slot, sum])
  if (tx.addLater) tx.addLater(`${scope} ${collection}`, difference, add)
  else tx.runLater(add(difference))
}

/** The last characters of a text are random; their codes are. */
const numberOf = (spread: RowId): number =>
  typeof spread === 'number' ? spread : spread.charCodeAt(spread.length - 1)

export async function readTotal(
  reader: Reader,
  scope: number,
  collection: string,
): Promise<number> {
  const row = await reader.get<{ total: number | string | null }>(sum([scope, collection]))
  return Number(row?.total ?? 0) // SQLite returns null for no rows
}
