/** Brings the engine's tables to what this program needs. Resources' tables are `resources/`'s. */
import type { Clock } from '../kernel/clock.ts'
import { type Database, type Dialect, type Reader, StorageError } from './database.ts'
import { type Migration, migrations } from './migrations.ts'
import { sql } from './sql.ts'

export interface MigrateDeps {
  readonly clock: Clock
  /** Told before each migration is applied. */
  readonly onProgress?: (migration: Migration) => void
  /** The engine's own by default. */
  readonly migrations?: readonly Migration[]
}

export interface Migrated {
  readonly applied: readonly Migration[]
  /** The number of the last migration the database has. */
  readonly version: number
}

/**
 * Applies what is missing, all of it or nothing. Two processes may start at once: the second waits
 * and finds nothing to do. Throws `StorageError` when the database is of a newer program.
 */
export async function migrateEngine(db: Database, deps: MigrateDeps): Promise<Migrated> {
  const known = deps.migrations ?? migrations
  const { int, text } = db.dialect.types
  let applied: Migration[] = []
  await db.migrate(async (tx, ddl) => {
    await ddl(`CREATE TABLE IF NOT EXISTS gh_migrations (
      number ${int} NOT NULL PRIMARY KEY, name ${text} NOT NULL, applied_at ${int} NOT NULL)`)
    applied = missing(known, await numbersIn(tx))
    for (const migration of applied) {
      deps.onProgress?.(migration)
      await ddl(inDialect(linesFor(db.name, migration.sql), db.dialect))
      await tx.run(sql`INSERT INTO gh_migrations (number, name, applied_at)
        VALUES (${migration.number}, ${migration.name}, ${deps.clock.now()})`)
    }
  })
  return { applied, version: known.at(-1)?.number ?? 0 }
}

/** Migrations this program has and the database has not; nothing is changed. For `doctor`. */
export async function pending(
  db: Database,
  known: readonly Migration[] = migrations,
): Promise<Migration[]> {
  const columns = await db.columns('gh_migrations')
  return missing(known, columns.length === 0 ? [] : await numbersIn(db))
}

async function numbersIn(reader: Reader): Promise<number[]> {
  const rows = await reader.arrays(sql`SELECT number FROM gh_migrations ORDER BY number`)
  return rows.map((row) => Number(row[0]))
}

function missing(known: readonly Migration[], have: readonly number[]): Migration[] {
  const newest = Math.max(0, ...known.map((migration) => migration.number))
  const found = Math.max(0, ...have)
  if (found > newest) {
    throw new StorageError(
      `The database has version ${found} and this program knows ${newest}: it was used by a ` +
        'newer Gatehook. Start that one, or restore the backup made before.',
    )
  }
  return known.filter((migration) => !have.includes(migration.number))
}

/** A line that begins with `{postgres}` or `{sqlite}` is for that database only. */
const linesFor = (name: Database['name'], text: string): string =>
  text.replace(/^\{(postgres|sqlite)\} *(.*)$/gm, (_, only: string, line: string) =>
    only === name ? line : '',
  )

/** `{int}` and its like, in the words of the database. */
export function inDialect(text: string, dialect: Dialect): string {
  const { types, serial, txid } = dialect
  const words: Readonly<Record<string, string>> = { ...types, serial, txid }
  return text.replace(/\{(\w+)\}/g, (token, name: string) => {
    const word = words[name]
    if (word === undefined) throw new Error(`bug: ${token} is no type of the dialect`)
    return word
  })
}
