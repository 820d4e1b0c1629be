/** Deletes many rows in short transactions, between which those of requests run. */
import type { Database, Statement, Tx } from './database.ts'
import { type PreparedStatement, prepareStatement } from './sql.ts'
import type { Table } from './table.ts'

/** Rows of one transaction. */
export const PURGE_SLICE_ROWS = 1_000
/** Rows of one run; the next run of the janitor continues. */
const RUN_ROWS_MAX = 1_000_000

/**
 * Repeats a statement that deletes at most `PURGE_SLICE_ROWS` rows until it deletes fewer. Returns
 * the number of deleted rows. When two nodes select the same rows, the later one deletes none and
 * ends.
 */
export const purgeInSlices = (db: Database, statement: Statement): Promise<number> =>
  purgeSlices(db, [statement])

const statements = new Map<Table, PreparedStatement>()

/** Returns the statement that deletes a slice of rows, oldest first. */
function expiredRows(table: Table): PreparedStatement {
  let statement = statements.get(table)
  if (!statement) {
    const { name, key, purgedBy } = table
    const columns = key.join(', ')
    statement = prepareStatement(`DELETE FROM ${name}
      WHERE ${key.length === 1 ? columns : `(${columns})`} IN (SELECT ${columns} FROM ${name}
        WHERE ${purgedBy} <= ? ORDER BY ${purgedBy} LIMIT ${PURGE_SLICE_ROWS})`)
    statements.set(table, statement)
  }
  return statement
}

/**
 * Deletes the rows of tables whose instant `purgedBy` has passed, a slice of each in one
 * transaction. Returns the number of deleted rows.
 */
export const purgeExpired = (
  db: Database,
  tables: readonly Table[],
  beforeMs: number,
): Promise<number> =>
  purgeSlices(
    db,
    tables.map((table) => expiredRows(table)([beforeMs])),
  )

async function purgeSlices(db: Database, slices: readonly Statement[]): Promise<number> {
  const run = (tx: Tx) => Promise.all(slices.map((statement) => tx.run(statement)))
  let purgedCount = 0
  while (purgedCount < RUN_ROWS_MAX) {
    const counts = await db.write(run, { single: true })
    for (const count of counts) purgedCount += count
    if (counts.every((count) => count < PURGE_SLICE_ROWS)) break
  }
  return purgedCount
}
