/**
 * Migrates the engine's tables to the schema of this program. `declare/resources/migrate.ts`
 * migrates the tables of resources.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { type Database, type Dialect, type Reader, StorageError, type Tx } from './database.ts'
import { fillDeliveryQueue } from './delivery-queue.ts'
import { distributeEngine } from './distribution/citus.ts'
import { type Migration, migrations } from './migrations.ts'
import { partitionEmptyTables } from './partitions/conversion.ts'
import { storeTimeline } from './postgres-timeline.ts'
import { fillScopes } from './scopes-of-rows.ts'
import { sql } from './sql.ts'
import { alignEpochOfServers, alignTransactionEpoch } from './transaction-epoch.ts'

export interface MigrateDeps {
  readonly clock: Clock
  /** Called before each migration is applied. */
  readonly onProgress?: (migration: Migration) => void
  /** Receives a sentence while the migrations wait for a lock. */
  readonly onWait?: (line: string) => void
  /** Default: the migrations of the engine. */
  readonly migrations?: readonly Migration[]
}

export interface MigrationResult {
  readonly applied: readonly Migration[]
  /** The number of the newest migration of this program. */
  readonly version: number
}

/** A row of `gh_migrations`. */
interface AppliedMigration {
  readonly number: number
  readonly name: string
  /** `null` when a release without checksums applied the migration. */
  readonly checksum: string | null
  /** 1: releases that do not contain the migration can use the database. */
  readonly additive: number | null
}

/**
 * Applies the missing migrations in one transaction. When two processes start at once, the second
 * waits and then applies none. Throws `StorageError` when a newer program has changed the
 * schema in a way that this one cannot use, and when an applied migration was edited.
 */
export async function migrateEngine(db: Database, deps: MigrateDeps): Promise<MigrationResult> {
  const available = deps.migrations ?? migrations
  const { int, text } = db.dialect.types
  const columns = (await db.columns('gh_migrations')).map(({ name }) => name)
  let applied: Migration[] = []
  let isNew = false
  await db.migrate(async (tx, ddl) => {
    await ddl(`CREATE TABLE IF NOT EXISTS gh_migrations (number ${int} NOT NULL PRIMARY KEY,
      name ${text} NOT NULL, applied_at ${int} NOT NULL, checksum ${text}, additive ${int})`)
    if (columns.length > 0 && !columns.includes('checksum')) {
      await ddl(`ALTER TABLE gh_migrations ADD COLUMN checksum ${text}`)
      await ddl(`ALTER TABLE gh_migrations ADD COLUMN additive ${int}`)
    }
    const recordedMigrations = await readApplied(tx)
    applied = missingOf(available, recordedMigrations)
    for (const migration of applied) {
      deps.onProgress?.(migration)
      await ddl(migrationSql(db, migration))
      await record(tx, migration, deps.clock.now())
    }
    await addChecksums(tx, available, recordedMigrations)
    if (db.name === 'postgres' && isComplete(available)) {
      if (applied.length > 0) await partitionEmptyTables(tx, ddl, deps.clock.now())
      isNew = recordedMigrations.length === 0
      if (!db.dialect.distributed) await alignTransactionEpoch(tx, ddl)
      else if (applied.length > 0) await distributeEngine(tx, ddl)
      await storeTimeline(tx, ddl)
    }
  }, deps.onWait)
  // It reads the shards by other connections, for which tables of a migration would be locked.
  if (isComplete(available) && db.dialect.distributed && !isNew) {
    await db.migrate(alignEpochOfServers, deps.onWait)
  }
  // A distributed database has no rows of releases that wrote less.
  if (isComplete(available) && !db.dialect.distributed) {
    await fillScopes(db)
    await fillDeliveryQueue(db)
  }
  return { applied, version: available.at(-1)?.number ?? 0 }
}

/**
 * Returns the migrations that the database lacks, for `doctor` and `/readyz`; changes nothing.
 * Throws the errors of `migrateEngine`.
 */
export async function pendingMigrations(
  db: Database,
  available: readonly Migration[] = migrations,
): Promise<Migration[]> {
  const columns = (await db.columns('gh_migrations')).map(({ name }) => name)
  if (columns.length === 0) return [...available]
  return missingOf(available, await readApplied(db, columns.includes('checksum')))
}

/** Returns the SQL of a migration for the database. */
export const migrationSql = (db: Database, { sql: text }: Migration): string =>
  inDialect(linesFor(db.name, text), db.dialect)

/** Returns the SHA-256 of a migration's text in hex, with all white space normalized. */
export const migrationChecksum = (text: string): string =>
  hash('sha256', text.trim().replace(/\s+/g, ' '))

/** Whether the list contains all migrations of the engine; tests migrate step by step. */
const isComplete = (available: readonly Migration[]) =>
  migrations.every((migration) => available.includes(migration))

async function readApplied(reader: Reader, hasChecksums = true): Promise<AppliedMigration[]> {
  const rows = hasChecksums
    ? await reader.all(sql`SELECT number, name, checksum, additive FROM gh_migrations
        ORDER BY number`)
    : await reader.all(sql`SELECT number, name, NULL AS checksum, NULL AS additive
        FROM gh_migrations ORDER BY number`)
  return rows.map((row) => ({
    ...(row as unknown as AppliedMigration),
    number: Number(row.number),
  }))
}

const record = (tx: Tx, { number, name, sql: text, additive }: Migration, now: number) =>
  tx.run(sql`INSERT INTO gh_migrations (number, name, applied_at, checksum, additive)
    VALUES (${number}, ${name}, ${now}, ${migrationChecksum(text)}, ${additive ? 1 : 0})`)

/** Adds the checksums that an earlier release did not record. */
async function addChecksums(
  tx: Tx,
  available: readonly Migration[],
  recordedMigrations: readonly AppliedMigration[],
): Promise<void> {
  for (const { number } of recordedMigrations.filter(({ checksum }) => checksum === null)) {
    const migration = available.find((candidate) => candidate.number === number)
    if (!migration) continue
    await tx.run(sql`UPDATE gh_migrations SET checksum = ${migrationChecksum(migration.sql)},
      additive = ${migration.additive ? 1 : 0} WHERE number = ${number}`)
  }
}

function missingOf(
  available: readonly Migration[],
  recordedMigrations: readonly AppliedMigration[],
): Migration[] {
  const newest = Math.max(0, ...available.map(({ number }) => number))
  const byNumber = new Map(recordedMigrations.map((row) => [row.number, row]))
  const unusable = recordedMigrations.find(
    ({ number, additive }) => number > newest && additive !== 1,
  )
  if (unusable) {
    throw new StorageError(
      `The database has version ${unusable.number} and this program supports ${newest}: a ` +
        'newer Gatehook has used it. Start that release, or restore an earlier backup.',
    )
  }
  for (const { number, name, sql: text } of available) {
    const checksum = byNumber.get(number)?.checksum
    if (checksum == null || checksum === migrationChecksum(text)) continue
    throw new StorageError(
      `Migration ${number} (${name}) was edited after this database applied it. Start the ` +
        'release that applied it, or restore an earlier backup.',
    )
  }
  return available.filter(({ number }) => !byNumber.has(number))
}

/** Returns the text without the lines that begin with `{name}` of the other database. */
const linesFor = (name: Database['name'], text: string): string =>
  text.replace(/^\{(postgres|sqlite)\} *(.*)$/gm, (_, only: string, line: string) =>
    only === name ? line : '',
  )

/** Replaces `{int}` and the other type names by the types of the database. */
export function inDialect(text: string, dialect: Dialect): string {
  const { types, serial, txid } = dialect
  const words: Readonly<Record<string, string>> = { ...types, serial, txid }
  return text.replace(/\{(\w+)\}/g, (token, name: string) => {
    const word = words[name]
    if (word === undefined) throw new Error(`bug: ${token} is no type of the dialect`)
    return word
  })
}
