/** Ids of the rows of an append-only table, which begin with their time. */
import { createIdSequence, timeOfId } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from './database.ts'
import { prepareStatement } from './sql.ts'

/**
 * Returns what generates ids. SQLite lists the rows by ids, so that none may be lower than an
 * earlier one: after the clock was set back, or where another writer of the process has the last
 * one. PostgreSQL lists them in the order of commits (`CommitOrder`).
 */
export function createCommitIds(table: string, prefix: string, random: Random) {
  const last = prepareStatement(`SELECT id FROM ${table} ORDER BY position DESC LIMIT 1`)
  const next = createIdSequence(prefix, random)
  const transactions = new WeakSet<Tx>()
  let own = ''
  return async (tx: Tx, nowMs: number): Promise<string> => {
    if (tx.hasRoundTrips) return next(nowMs)
    const lastId = transactions.has(tx) ? own : ((await tx.get<{ id: string }>(last([])))?.id ?? '')
    transactions.add(tx)
    const lastMs = timeOfId(lastId) ?? 0
    own = next(Math.max(nowMs, lastId === own ? lastMs : lastMs + 1))
    return own
  }
}
