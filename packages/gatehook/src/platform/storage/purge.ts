/** Deletes many rows in short transactions, between which those of requests run. */
import type { Database, Statement, Tx } from './database.ts'

/** Rows of one transaction. */
export const PURGE_SLICE_ROWS = 1_000
/** Rows of one run; the next run of the janitor continues. */
const RUN_ROWS_MAX = 1_000_000

/**
 * Repeats a statement that deletes at most `PURGE_SLICE_ROWS` rows until it deletes fewer. Returns
 * the number of deleted rows. When two nodes select the same rows, the later one deletes none and
 * ends.
 */
export async function purgeInSlices(db: Database, statement: Statement): Promise<number> {
  let purgedCount = 0
  while (purgedCount < RUN_ROWS_MAX) {
    const count = await db.write((tx) => tx.run(statement), { single: true })
    purgedCount += count
    if (count < PURGE_SLICE_ROWS) break
  }
  return purgedCount
}

/** Runs statements that delete few rows as one transaction. Returns the number of deleted rows. */
export async function purgeTogether(
  db: Database,
  statements: readonly Statement[],
): Promise<number> {
  const run = (tx: Tx) => Promise.all(statements.map((statement) => tx.run(statement)))
  const counts = await db.write(run, { single: true })
  return counts.reduce((sum, count) => sum + count, 0)
}
