/**
 * The reviewed migrations of a service (§6.6), each applied once. A migration that takes a column
 * from nodes that run is refused, and so is a declaration that lacks a migration of the database
 * which is no addition (§18.8).
 */

import { Failure } from '../../kernel/failure.ts'
import { listRunningNodes, NodesRunError, namesOf } from '../../platform/nodes/registry.ts'
import {
  ConstraintError,
  type Database,
  type Reader,
  type Tx,
} from '../../platform/storage/database.ts'
import { textFor } from '../../platform/storage/expressions.ts'
import {
  inDialect,
  isRehearsalExact,
  migrationChecksum,
  rehearsalSql,
} from '../../platform/storage/migrate.ts'
import { listKeyless } from '../../platform/storage/move/tables.ts'
import type { RunDdl } from '../../platform/storage/partitions/catalog.ts'
import { rehearse } from '../../platform/storage/recorded-migration.ts'
import { sql } from '../../platform/storage/sql.ts'
import { listForeignColumns, type TypedColumn } from '../../platform/storage/table-parts.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { deleteTableRecords, recordAdditions, recordTables, tableExists } from './additions.ts'
import { filledColumns } from './computed-fill.ts'
import { columnsAddedBy } from './retired-columns.ts'
import { requestFill } from './row-fill.ts'
import type { MigrationOptions, ServiceDefinition } from './service.ts'

const MIGRATIONS_TABLE = 'gh_service_migrations'

export interface ReviewedMode {
  /** The present, in epoch milliseconds. */
  readonly now: () => number
  /** Takes columns from nodes that run. */
  readonly ignoresNodes: boolean
  /** Receives one line per change. */
  readonly progress: (line: string) => void
  /** The changes that this start has applied, which a refusal lists. */
  readonly applied: string[]
}

/**
 * Applies a migration in its own transaction, so that the next one sees its tables. A migration of
 * a table that does not exist yet is recorded only: the start creates that table in the current
 * shape. Throws `DeclarationError` with the database's message if a statement fails, and
 * `NodesRunError` if nodes use a column that it removes, renames or changes.
 */
export async function applyMigration(
  db: Database,
  service: ServiceDefinition,
  migration: MigrationOptions,
  mode: ReviewedMode,
): Promise<void> {
  const { progress } = mode
  const { number, name, table } = migration
  const checksum = checksumOf(db, migration)
  let isReported = false
  let created: string[] = []
  await db.migrate(async (tx, ddl) => {
    // The lock of `migrate` admits one process at a time; another one can be faster.
    if ((await appliedNumbers(tx)).includes(number)) return
    let changed: readonly TypedColumn[] = []
    if (table === undefined || (await tableExists(db, table))) {
      if (!isReported) progress(`migration ${number} of the service: ${name}`)
      isReported = true
      const { before, after } = await runReviewed(db, { tx, ddl }, migration, mode)
      changed = subtractColumns(before, after)
      created = newTables(before, after)
      await recordTables(tx, created)
      // The record of one that is no resource stays: an older declaration must not create it empty.
      const declared = new Set(service.resources.map((resource) => resource.name))
      await deleteTableRecords(
        tx,
        newTables(after, before).filter((lost) => declared.has(lost)),
      )
      const columns = overlapColumns(db, service, migration)
      if (changed.length === 0) columns.push(...optionalColumns(before, after))
      if (columns.length > 0) await recordAdditions(tx, columns)
      // The SQL can change values without those that follow from them.
      const definition = service.resources.find(({ name }) => name === table)
      if (definition && filledColumns(definition).length > 0) {
        await requestFill(tx, definition.name, 'columns')
      }
    }
    await tx.run(sql`INSERT INTO gh_service_migrations (number, name, checksum, additive)
      VALUES (${number}, ${name}, ${checksum}, ${changed.length === 0 ? 1 : 0})`)
  }, progress)
  if (isReported) mode.applied.push(`migration ${number} (${name})`)
  for (const keyless of await listKeyless(db, created))
    progress(`table ${keyless} created without a primary key: gatehook move copies no such table`)
}

/** Runs the statements. Returns the columns of all tables before and after them. */
async function runReviewed(
  db: Database,
  { tx, ddl }: { readonly tx: Tx; readonly ddl: RunDdl },
  migration: MigrationOptions,
  { applied, ignoresNodes, now }: ReviewedMode,
) {
  const before = await listForeignColumns(tx)
  await ddl(sqlFor(db, migration.sql)).catch((error: unknown) => {
    throw describeError(migration, error, applied)
  })
  const after = await listForeignColumns(tx)
  if (!ignoresNodes) {
    await requireUnused(tx, migration, { changed: subtractColumns(before, after), now, applied })
  }
  return { before, after }
}

/**
 * Runs the migrations of tables in one transaction, which is rolled back, and returns what `read`
 * returns at its end. Undefined if no table exists, if the database does not rehearse, or if a
 * migration fails. With `mode` it throws, before the first migration is applied, for a column that
 * running nodes use, and on SQLite for a migration that fails.
 */
export async function rehearseMigrations<T>(
  db: Database,
  migrations: readonly MigrationOptions[],
  read: (tx: Tx) => Promise<T>,
  mode?: ReviewedMode,
): Promise<T | undefined> {
  const tables = new Set<string>()
  for (const { table } of migrations) {
    if (table !== undefined && (await tableExists(db, table))) tables.add(`"${table}"`)
  }
  if (tables.size === 0) return undefined
  let result: T | undefined
  let isPrepared = false
  const unreviewed = { now: () => 0, ignoresNodes: true, progress() {}, applied: [] }
  try {
    const runAll = async (tx: Tx, ddl: RunDdl) => {
      for (const text of rehearsalSql(db, [...tables])) {
        await ddl(text).catch((error: unknown) => {
          throw describeError(migrations[0]!, error, [])
        })
      }
      isPrepared = true
      for (const migration of migrations) {
        const { table } = migration
        if (table === undefined || (await db.columns(table, tx)).length === 0) continue
        await runReviewed(db, { tx, ddl }, migration, mode ?? unreviewed)
      }
      result = await read(tx)
    }
    await rehearse(db, runAll, mode?.progress)
  } catch (error) {
    const isFinal = mode !== undefined && isPrepared && isRehearsalExact(db)
    if (!(error instanceof DeclarationError) || isFinal) throw error
    return undefined
  }
  return result
}

function newTables(before: readonly TypedColumn[], after: readonly TypedColumn[]): string[] {
  const former = new Set(before.map(([table]) => table))
  return [...new Set(after.map(([table]) => table))].filter((table) => !former.has(table))
}

function subtractColumns(
  before: readonly TypedColumn[],
  after: readonly TypedColumn[],
): TypedColumn[] {
  const nameOf = ([table, column, type]: TypedColumn) => [table, column, type].join(' ')
  const present = new Set(after.map(nameOf))
  return before.filter((column) => !present.has(nameOf(column)))
}

/** Returns the columns of tables in use with which releases that do not know them can run. */
function optionalColumns(
  before: readonly TypedColumn[],
  after: readonly TypedColumn[],
): (readonly [table: string, column: string, isComputed: boolean])[] {
  const created = newTables(before, after)
  return subtractColumns(after, before)
    .filter(([table, , , isOptional]) => isOptional === 1 && !created.includes(table))
    .map(([table, column]) => [table, column, false] as const)
}

async function requireUnused(
  tx: Tx,
  { number, name }: MigrationOptions,
  {
    changed,
    now,
    applied,
  }: Pick<ReviewedMode, 'now' | 'applied'> & { readonly changed: readonly TypedColumn[] },
): Promise<void> {
  if (changed.length === 0) return
  const nodes = await listRunningNodes(tx, now())
  const uses = (node: (typeof nodes)[number]) =>
    changed.filter(([table, column]) => node.columns[table]?.[column] !== undefined)
  const affected = nodes.filter((node) => uses(node).length > 0)
  if (affected.length === 0) return
  const paths = new Set(affected.flatMap(uses).map(([table, column]) => `${table}.${column}`))
  throw new NodesRunError(
    `Your migration ${number} (${name}) removes, renames or changes ${[...paths].join(', ')}. ` +
      `Nodes that run use it: ${namesOf(affected)}. ${describeApplied(applied)} ` +
      'End these nodes first (a node that was killed counts for 45 s), or let them fail: ' +
      'gatehook migrate --force',
  )
}

/** Returns the columns that nodes of the previous declaration meet beside a retired column. */
function overlapColumns(
  db: Database,
  { resources }: ServiceDefinition,
  { table, sql: text }: MigrationOptions,
): (readonly [table: string, column: string, isComputed: boolean])[] {
  const definition = resources.find(({ name }) => name === table)
  if (!definition || definition.retired.length === 0) return []
  const columns = columnsAddedBy(textFor(db.name, text))
  const computed = filledColumns(definition)
  return columns.map((column) => [definition.name, column, computed.includes(column)] as const)
}

/** Returns a sentence with the changes that a start applied before it was refused. */
const describeApplied = (applied: readonly string[]): string =>
  applied.length === 0 ? 'Nothing was applied.' : `Applied before it: ${applied.join(', ')}.`

/** Names the migration in an error of its SQL. Other errors, such as a lost connection, pass. */
function describeError(
  { number, name }: MigrationOptions,
  error: unknown,
  applied: readonly string[],
): unknown {
  const cause = error instanceof Failure ? error.detail : error
  const isRejectedSql = !(error instanceof Failure) || error.code === 'invalid_request'
  if (!isRejectedSql || !(cause instanceof Error)) return error
  const index = cause instanceof ConstraintError && cause.kind === 'unique' && cause.index
  const reason = index ? `rows have equal values of the unique index ${index}` : cause.message
  return new DeclarationError(
    `Your migration ${number} (${name}) failed: ${reason}. ` +
      (applied.length === 0 ? '' : 'Nothing of it was applied. ') +
      describeApplied(applied),
    { cause },
  )
}

const checksumOf = (db: Database, { sql: text }: MigrationOptions): string =>
  migrationChecksum(textFor(db.name, text))

/**
 * Returns the migrations that the database lacks. Throws if an applied one was edited, and if the
 * database has one that is unknown and no addition.
 */
export async function pendingMigrations(
  db: Database,
  { migrations }: ServiceDefinition,
): Promise<MigrationOptions[]> {
  if (!(await tableExists(db, MIGRATIONS_TABLE))) return [...migrations]
  const rows = await db.all(sql`SELECT number, name, checksum, additive
    FROM gh_service_migrations ORDER BY number`)
  const declared = new Map(migrations.map((migration) => [migration.number, migration]))
  for (const { number, name, checksum, additive } of rows) {
    const migration = declared.get(number)
    if (!migration && additive === 1) continue
    if (migration && checksum === checksumOf(db, migration)) continue
    throw new DeclarationError(
      migration
        ? `Your migration ${number} (${migration.name}) was edited after this database applied ` +
            'it. Restore its text, and add a migration with the next number.'
        : `The database has migration ${number} (${name}), which this declaration lacks, and ` +
            'which is no addition: a newer release of the service has used it. Start that ' +
            'release, or restore an earlier backup. (Is the service in another folder?)',
    )
  }
  const applied = new Set(rows.map(({ number }) => number))
  return migrations.filter(({ number }) => !applied.has(number))
}

async function appliedNumbers(reader: Reader): Promise<number[]> {
  const rows = await reader.arrays(sql`SELECT number FROM gh_service_migrations`)
  return rows.map((row) => Number(row[0]))
}

export const sqlFor = (db: Database, text: MigrationOptions['sql']): string =>
  inDialect(textFor(db.name, text), db.dialect)
