/**
 * Creates the engine's tables in a new database, and migrates those of an existing one to the
 * schema of this program. `resources/migrate.ts` does so with the tables of resources.
 */
import { hash } from 'node:crypto'
import type { Clock } from '../../kernel/clock.ts'
import { type Database, type Dialect, type Reader, StorageError, type Tx } from './database.ts'
import { CREATE_HORIZON, distributeTable } from './distribution/citus.ts'
import type { Migration } from './migrations.ts'
import { type RunDdl, timeTable } from './partitions/catalog.ts'
import { createPartitions } from './partitions/upkeep.ts'
import { storeTimeline } from './postgres-timeline.ts'
import { raw, sql } from './sql.ts'
import type { Table } from './table.ts'
import { createTable } from './table-ddl.ts'
import { appliedMigrations } from './tables.ts'
import { alignEpochOfServers, alignTransactionEpoch, replaceEpoch } from './transaction-epoch.ts'

/** The tables as this program uses them, and how those of an older database become so. */
export interface Schema {
  readonly tables: readonly Table[]
  readonly migrations: readonly Migration[]
}

/** A change of the tables: number 1 is their creation. */
export type AppliedChange = Pick<Migration, 'number' | 'name'>

export interface MigrateDeps {
  readonly clock: Clock
  /** Called before each change is applied. */
  readonly onProgress?: (change: AppliedChange) => void
  /** Receives a sentence while the migrations wait for a lock. */
  readonly onWait?: (line: string) => void
}

export interface MigrationResult {
  readonly applied: readonly AppliedChange[]
  /** The number of the newest change of this program. */
  readonly version: number
}

const CREATION: AppliedChange = { number: 1, name: 'tables' }

/** A row of `gh_migrations`. */
interface StoredChange {
  readonly number: number
  /** `null` for the creation of the tables. */
  readonly checksum: string | null
  /** 1: releases that do not contain the migration can use the database. */
  readonly additive: number
}

/**
 * Creates the tables, or applies the missing migrations, in one transaction. When two processes
 * start at once, the second waits and then changes nothing. Throws `StorageError` when a newer
 * program has changed the schema in a way that this one cannot use, and when an applied migration
 * was edited.
 */
export async function migrateSchema(
  db: Database,
  schema: Schema,
  { clock, onProgress, onWait }: MigrateDeps,
): Promise<MigrationResult> {
  let applied: readonly AppliedChange[] = []
  let isNew = false
  await db.migrate(async (tx, ddl) => {
    applied = await applyChanges(
      db,
      schema,
      { tx, ddl },
      { clock, ...(onProgress && { onProgress }) },
    )
    isNew = isCreation(applied)
    if (db.generation !== undefined) await deleteRowsOfOwners(tx, schema.tables)
    if (db.name !== 'postgres') return
    if (!db.dialect.distributed) await alignTransactionEpoch(tx, schema.tables, ddl)
    await storeTimeline(tx, ddl)
  }, onWait)
  // It reads the shards by other connections, for which new tables would be locked.
  if (db.dialect.distributed && !isNew) {
    await db.migrate((tx, ddl) => alignEpochOfServers(tx, schema.tables, ddl), onWait)
  }
  return { applied, version: newestOf(schema) }
}

/** Deletes what former owners of the file did: this process is the only one. */
async function deleteRowsOfOwners(tx: Tx, tables: readonly Table[]): Promise<void> {
  for (const { name } of tables.filter(({ ofOwner }) => ofOwner)) {
    await tx.run(sql`DELETE FROM ${raw(name)}`)
  }
}

/** Creates the tables, or applies the missing migrations. Returns the changes. */
export async function applyChanges(
  db: Database,
  schema: Schema,
  { tx, ddl }: { readonly tx: Tx; readonly ddl: RunDdl },
  { clock, onProgress }: Pick<MigrateDeps, 'onProgress'> & { clock: Pick<Clock, 'now'> },
): Promise<readonly AppliedChange[]> {
  const recorded = await readRecorded(db, tx)
  const isNew = recorded.length === 0
  const applied = missingOf(schema, recorded)
  if (isNew) {
    onProgress?.(CREATION)
    await createTables(db, ddl, schema.tables, clock.now())
  }
  for (const { number, name, sql: text, additive } of schema.migrations) {
    if (!applied.some((change) => change.number === number)) continue
    if (!isNew) {
      onProgress?.({ number, name })
      await ddl(inDialect(text, db.dialect))
    }
    const checksum = migrationChecksum(text)
    await record(tx, { number, name }, { checksum, additive: additive ? 1 : 0 }, clock.now())
  }
  if (isNew) await record(tx, CREATION, { checksum: null, additive: 0 }, clock.now())
  return applied
}

/**
 * Returns the changes that the database lacks, for `doctor` and `/readyz`; changes nothing. Throws
 * the errors of `migrateSchema`.
 */
export const pendingChanges = async (db: Database, schema: Schema): Promise<AppliedChange[]> =>
  missingOf(schema, await readRecorded(db, db))

/** Whether the changes that a database lacks begin with the tables. */
export const isCreation = ([first]: readonly AppliedChange[]): boolean =>
  first?.number === CREATION.number

/** Returns the statements of a change. */
export function changeSql(
  { dialect }: Database,
  { tables, migrations }: Schema,
  { number }: AppliedChange,
): readonly string[] {
  const migration = migrations.find((candidate) => candidate.number === number)
  if (migration) return [inDialect(migration.sql, dialect)]
  return ownTables(dialect, tables).flatMap((table) => createTable(dialect, table))
}

/** On SQLite, the tables of monitoring are in a file of their own. */
export const ownTables = ({ name }: Dialect, tables: readonly Table[]): readonly Table[] =>
  name === 'sqlite' ? tables.filter(({ apart }) => !apart) : tables

async function createTables(
  { dialect }: Database,
  ddl: RunDdl,
  tables: readonly Table[],
  nowMs: number,
): Promise<void> {
  const { name, distributed } = dialect
  const statements = name === 'postgres' ? [replaceEpoch(0)] : []
  if (distributed) statements.push(CREATE_HORIZON)
  const add = async (statement: string) => void statements.push(statement)
  let beside: string | undefined
  for (const table of ownTables(dialect, tables)) {
    statements.push(...createTable(dialect, table))
    if (table.divided && name === 'postgres') await createPartitions(add, timeTable(table), nowMs)
    if (distributed) statements.push(...distributeTable(table, beside))
    if (table.place === 'scope') beside ??= table.name
  }
  await ddl(statements.join(';\n'))
}

/**
 * Whether a migration that fails in a rehearsal fails when it is applied, too. PostgreSQL rehearses
 * without rows, and beside other nodes that apply migrations.
 */
export const isRehearsalExact = ({ name }: Database): boolean => name === 'sqlite'

/**
 * Returns the statements before those of a rehearsal, which is rolled back. PostgreSQL rehearses
 * with empty tables, so that it locks them for milliseconds, not for the time that their rows take.
 */
export const rehearsalSql = ({ name }: Database, tables: readonly string[]): readonly string[] =>
  name === 'postgres' ? [`TRUNCATE ${tables.join(', ')} CASCADE`] : []

/** Returns the SHA-256 of a migration's text in hex, with all white space normalized. */
export const migrationChecksum = (text: string): string =>
  hash('sha256', text.trim().replace(/\s+/g, ' '))

async function readRecorded(db: Database, reader: Reader): Promise<StoredChange[]> {
  if ((await db.columns(appliedMigrations.name)).length === 0) return []
  const rows = await reader.all(sql`SELECT number, checksum, additive FROM gh_migrations
    ORDER BY number`)
  return rows.map((row) => ({ ...(row as unknown as StoredChange), number: Number(row.number) }))
}

/** Returns the number of applied changes, and the instant of the first one. */
export async function readApplied(reader: Reader): Promise<{ total: number; createdAt: number }> {
  const row = await reader.get(sql`SELECT count(*) AS total, MIN(applied_at) AS at
    FROM gh_migrations`)
  return { total: Number(row!.total), createdAt: Number(row!.at ?? 0) }
}

const record = (
  tx: Tx,
  { number, name }: AppliedChange,
  { checksum, additive }: Omit<StoredChange, 'number'>,
  now: number,
) =>
  tx.run(sql`INSERT INTO gh_migrations (number, name, applied_at, checksum, additive)
    VALUES (${number}, ${name}, ${now}, ${checksum}, ${additive})`)

function missingOf({ migrations }: Schema, recorded: readonly StoredChange[]): AppliedChange[] {
  const newest = newestOf({ migrations })
  const byNumber = new Map(recorded.map((row) => [row.number, row]))
  const unusable = recorded.find(({ number, additive }) => number > newest && additive !== 1)
  if (unusable) {
    throw new StorageError(
      `The database has version ${unusable.number} and this program supports ${newest}: a ` +
        'newer Gatehook has used it. Start that release, or restore an earlier backup.',
    )
  }
  for (const { number, name, sql: text } of migrations) {
    const checksum = byNumber.get(number)?.checksum
    if (checksum === undefined || checksum === migrationChecksum(text)) continue
    throw new StorageError(
      `Migration ${number} (${name}) was edited after this database applied it. Start the ` +
        'release that applied it, or restore an earlier backup.',
    )
  }
  return [CREATION, ...migrations].filter(({ number }) => !byNumber.has(number))
}

const newestOf = ({ migrations }: Pick<Schema, 'migrations'>): number =>
  Math.max(CREATION.number, ...migrations.map(({ number }) => number))

/** Replaces `{int}` and the other type names by the types of the database. */
export function inDialect(text: string, { types, scoped, txid }: Dialect): string {
  const words: Readonly<Record<string, string>> = { ...types, serial: scoped.id, txid }
  return text.replace(/\{(\w+)\}/g, (token, name: string) => {
    const word = words[name]
    if (word === undefined) throw new Error(`bug: ${token} is no type of the dialect`)
    return word
  })
}
