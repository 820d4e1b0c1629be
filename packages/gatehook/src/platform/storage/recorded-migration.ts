/**
 * Rehearses migrations: in a transaction that is rolled back, which can record their statements as
 * SQL for another program. Contains no decision about what to migrate.
 */
import { type Database, type Statement, StorageError, type Tx } from './database.ts'
import { requireOneServer } from './distribution/one-server.ts'
import type { RunDdl } from './partitions/catalog.ts'
import { quoted } from './sql-function.ts'

class RehearsalEnd extends Error {}

/** Runs `change` as `db.migrate` does, and rolls it back. */
export async function rehearse(
  db: Pick<Database, 'migrate'>,
  change: (tx: Tx, ddl: RunDdl) => Promise<void>,
  onWait?: (line: string) => void,
): Promise<void> {
  const end = new RehearsalEnd()
  const run = async (tx: Tx, ddl: RunDdl) => {
    await change(tx, ddl)
    throw end
  }
  await db.migrate(run, onWait).catch((error: unknown) => {
    if (error !== end) throw error
  })
}

/**
 * Returns the statements of `apply` in their order, and leaves the database as it is. Each
 * transaction of `apply` is a savepoint, whose statements are returned unless it fails. `ddl` runs
 * a statement that is not returned. PostgreSQL only; throws `StorageError` for distributed tables.
 */
export async function recordMigration(
  db: Database,
  apply: (recorded: Database, ddl: RunDdl) => Promise<void>,
  onWait?: (line: string) => void,
): Promise<readonly string[]> {
  requireOneServer(db, () => new StorageError('Distributed tables cannot be printed as SQL.'))
  let statements: string[] = []
  await rehearse(
    db,
    async (tx, ddl) => {
      statements = []
      await apply(recordingDatabase(db, tx, ddl, statements), ddl)
    },
    onWait,
  )
  return statements
}

/** Reads and writes in the transaction. Other methods of the database throw in it. */
function recordingDatabase(db: Database, tx: Tx, ddl: RunDdl, statements: string[]): Database {
  const recordingTx = recordRuns(tx, statements)
  const recordDdl: RunDdl = async (text) => {
    await ddl(text)
    statements.push(withoutEnd(text))
  }
  const attempt = async <T>(change: () => Promise<T>): Promise<T> => {
    const length = statements.length
    try {
      return await tx.attempt(change)
    } catch (error) {
      statements.length = length
      throw error
    }
  }
  return {
    ...db,
    all: (statement) => tx.all(statement),
    get: (statement) => tx.get(statement),
    arrays: (statement) => tx.arrays(statement),
    columns: (table) => db.columns(table, tx),
    indexes: (table) => db.indexes(table, tx),
    write: (change) => attempt(() => change(recordingTx)),
    migrate: (change) => attempt(() => change(recordingTx, recordDdl)),
  }
}

const recordRuns = (tx: Tx, statements: string[]): Tx => ({
  counterSlot: (spread) => tx.counterSlot(spread),
  get writes() {
    return tx.writes
  },
  all: (statement) => tx.all(statement),
  get: (statement) => tx.get(statement),
  arrays: (statement) => tx.arrays(statement),
  lock: (...statement) => tx.lock(...statement),
  hold: (statement) => tx.hold(statement),
  async run(statement) {
    const count = await tx.run(statement)
    statements.push(textOf(statement))
    return count
  },
  runLater(statement) {
    tx.runLater(statement)
    statements.push(textOf(statement))
  },
  async insert(statement) {
    const id = await tx.insert(statement)
    statements.push(textOf(statement))
    return id
  },
  attempt: (change) => tx.attempt(change),
  afterCommit: () => undefined,
})

/** Returns a statement for PostgreSQL with its values. */
const textOf = ({ text, values }: Statement): string =>
  values.length === 0
    ? text
    : text.replace(/\$(\d+)/g, (_, number) => literalOf(values[Number(number) - 1]))

function literalOf(value: unknown): string {
  if (value === null) return 'NULL'
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'::bytea`
  return typeof value === 'number' ? String(value) : quoted(String(value))
}

/** The text of a team may end with a semicolon, or with a comment, which must end before one. */
function withoutEnd(text: string): string {
  const statement = text.trim().replace(/;$/, '')
  return /--[^\n]*$/.test(statement) ? `${statement}\n` : statement
}
