/**
 * Migrates the tables to the declaration (§6.6): first the service's reviewed migrations, each
 * once, then additions. It rejects any other change with a sentence.
 */

import { DeclarationError } from '../fields/declaration-mistakes.ts'
import { Failure } from '../kernel/failure.ts'
import { ConstraintError, type Database, type Reader, type Tx } from '../storage/database.ts'
import { inDialect, migrationChecksum } from '../storage/migrate.ts'
import { sql } from '../storage/sql.ts'
import {
  columnsToCompute,
  fillComputedFields,
  listPendingFills,
  requestFill,
} from './computed-fill.ts'
import { checkDerivedFields } from './derived-check.ts'
import { foldedColumns } from './folded-columns.ts'
import { buildIndexes, type IndexChanges, NO_INDEX_CHANGES } from './index-builds.ts'
import type { ResourceDefinition } from './resource.ts'
import { columnsAddedBy } from './retired-columns.ts'
import { fillSearchIndexes, findOutdatedIndexes, resetSearchIndexes } from './search-fill.ts'
import { type MigrationOptions, orderByReference, type ServiceDefinition } from './service.ts'
import { applyMarking, planMarking } from './stale-rows.ts'
import { planTable, type TablePlan } from './table-plan.ts'

/** Receives one line per change. */
export type Progress = (line: string) => void

interface PendingTable {
  /** Empty for a migration without a table. */
  readonly table: string
  readonly plan: TablePlan
  /** The pending reviewed migrations of the table, by number and name. */
  readonly migrations?: readonly string[]
  /** Whether the start indexes the words of the rows. */
  readonly isSearchIndex?: boolean
  /** Whether the start computes fields of the rows. */
  readonly isComputedFill?: boolean
  /** Whether the statements change the triggers that record rows without derived values. */
  readonly isMarking?: boolean
}

/** A plan of statements that change no index. */
const planOf = (ddl: readonly string[]): TablePlan => ({
  ddl,
  indexes: [],
  unusedIndexes: [],
  rejected: [],
})

/** Describes the pending changes of a table: its migrations, columns and indexes, or itself. */
export function describePending(pending: PendingTable): readonly string[] {
  const { table, plan, migrations, isSearchIndex, isComputedFill, isMarking } = pending
  if (isMarking) return [`triggers of table ${table}`]
  if (isComputedFill) return [`computed fields of table ${table}`]
  if (isSearchIndex) return [`search index of table ${table}`]
  const suffix = table === '' ? '' : ` of table ${table}`
  if (migrations) return migrations.map((migration) => `migration ${migration}${suffix}`)
  if (isNewTable(plan)) return [`table ${table}`]
  const changes = [...describeColumns(plan), ...describeIndexes(plan)]
  const added = changes.map((change) => `${change}${suffix}`)
  return plan.rejected.length > 0 ? [...added, `a reviewed migration${suffix}`] : added
}

export const isNewTable = ({ ddl }: TablePlan): boolean =>
  ddl[0]?.startsWith('CREATE TABLE') ?? false

/** Returns the names of the columns that the plan adds to a table in use. */
export const addedColumns = ({ ddl }: Pick<TablePlan, 'ddl'>): string[] =>
  ddl.flatMap((statement) => /^ALTER TABLE \w+ ADD COLUMN (\w+)/.exec(statement)?.[1] ?? [])

const describeColumns = (plan: TablePlan): string[] =>
  addedColumns(plan).map((name) => `column ${name}`)

const describeIndexes = ({ indexes, unusedIndexes }: TablePlan): string[] => [
  ...indexes.map(({ name }) => `index ${name}`),
  ...unusedIndexes.map((name) => `index ${name} dropped`),
]

/**
 * Returns the changes that the declaration requires, without applying them. A table with pending
 * migrations lists only those: its other changes depend on them.
 */
export async function planMigration(
  db: Database,
  service: ServiceDefinition,
): Promise<PendingTable[]> {
  const pending: PendingTable[] = []
  for (const { table, sql, number, name } of await pendingMigrations(db, service)) {
    if (table === undefined || (await tableExists(db, table))) {
      const plan = planOf([sqlFor(db, sql)])
      pending.push({ table: table ?? '', plan, migrations: [`${number} ${name}`] })
    }
  }
  for (const definition of orderByReference(service.resources)) {
    const { name } = definition
    if (pending.some(({ table }) => table === name)) continue
    const plan = await planStoredTable(db, db, definition)
    const { ddl, indexes, unusedIndexes, rejected } = plan
    if ([ddl, indexes, unusedIndexes, rejected].some((changes) => changes.length > 0))
      pending.push({ table: name, plan })
  }
  for (const { table, ddl } of await planMarking(db, db, service.resources)) {
    if (ddl.length > 0) pending.push({ table, plan: planOf(ddl), isMarking: true })
  }
  for (const table of await listPendingFills(db)) {
    if (!service.resources.some(({ name }) => name === table)) continue
    pending.push({ table, plan: planOf([]), isComputedFill: true })
  }
  for (const { name } of await findOutdatedIndexes(db, service.resources)) {
    pending.push({ table: name, plan: planOf([]), isSearchIndex: true })
  }
  return pending
}

async function planStoredTable(
  db: Database,
  reader: Reader,
  definition: ResourceDefinition,
): Promise<TablePlan> {
  const { name } = definition
  const stored = {
    columns: await db.columns(name),
    indexes: await db.indexes(name),
    additions: await listAdditions(db, reader, name),
  }
  return planTable(definition, stored, db.dialect)
}

export interface MigrationMode {
  /**
   * Leaves indexes of tables in use to `index-builds.ts`, if the database creates them without
   * delay to requests. Default: creates them.
   */
  readonly defersIndexes?: boolean
}

/**
 * Applies the pending migrations and additions. Returns the changes of indexes that remain. Throws
 * `DeclarationError` if a change needs a reviewed migration; then it adds nothing.
 */
export async function migrateService(
  db: Database,
  service: ServiceDefinition,
  progress: Progress = () => {},
  mode: MigrationMode = {},
): Promise<IndexChanges> {
  await checkDerivedFields(db, service.resources)
  const migrations = await pendingMigrations(db, service)
  if (migrations.length > 0) await resetSearchIndexes(db, changedTables(service, migrations))
  for (const migration of migrations) {
    if (migration.table !== undefined) await applyMigration(db, service, migration, progress)
  }
  const pending = (await planMigration(db, service)).filter(
    ({ migrations, isSearchIndex, isComputedFill, isMarking }) =>
      !migrations && !isSearchIndex && !isComputedFill && !isMarking,
  )
  const rejected = pending.flatMap(({ plan }) => plan.rejected)
  if (rejected.length > 0) {
    throw new DeclarationError(
      `The declaration changed in ways that need a reviewed migration:\n${rejected.join('\n')}\n` +
        'Add it to service({ migrations: [{ number, name, table, sql }] }) and start again.',
    )
  }
  const isDeferred = (mode.defersIndexes ?? false) && db.dialect.onlineIndexes
  for (const { table, plan } of pending) {
    const definition = service.resources.find(({ name }) => name === table)!
    await applyAdditions(db, definition, plan, isDeferred, progress)
  }
  for (const migration of migrations) {
    if (migration.table === undefined) await applyMigration(db, service, migration, progress)
  }
  // Before the fills: rows that another process changes meanwhile are recorded.
  await applyMarking(db, service.resources, progress)
  await fillComputedFields(db, service, progress)
  await fillSearchIndexes(db, service.resources, progress)
  if (!isDeferred) return NO_INDEX_CHANGES
  return {
    missing: pending.flatMap(({ plan }) => plan.indexes),
    unused: pending.flatMap(({ plan }) => plan.unusedIndexes),
  }
}

/** Creates the table, or adds its columns, then its indexes. */
async function applyAdditions(
  db: Database,
  definition: ResourceDefinition,
  plan: TablePlan,
  isDeferred: boolean,
  progress: Progress,
): Promise<void> {
  const { name: table } = definition
  if (plan.ddl.length > 0) {
    await db.migrate(async (tx, ddl) => {
      // Another node can have been faster.
      const current = await planStoredTable(db, tx, definition)
      for (const statement of current.ddl) await ddl(statement)
      const names = addedColumns(current)
      const columns = names.map((column) => [table, column] as const)
      if (columns.length > 0) await recordAdditions(tx, ddl, db, columns)
      if (columnsToCompute(definition, names).length > 0) {
        await requestFill(db, tx, ddl, definition)
      }
    }, progress)
  }
  if (isNewTable(plan)) return progress(`table ${table} created`)
  if (!isDeferred) {
    await buildIndexes(db, plan.indexes, { onProgress: progress })
    await db.dropIndexes(plan.unusedIndexes)
  }
  const changes = [...describeColumns(plan), ...(isDeferred ? [] : describeIndexes(plan))]
  if (changes.length > 0) progress(`table ${table}: ${changes.join(', ')}`)
}

/** Statements whose effects continue after the migration: they can change further tables. */
const LASTING = /\b(trigger|function|procedure|rule|view)\b/i

/** Returns the resources whose texts the migrations can change without their words. */
function changedTables(
  { resources, migrations }: ServiceDefinition,
  pending: readonly MigrationOptions[],
): string[] {
  const texts = migrations.flatMap((migration) => {
    const { sql: text } = migration
    const all = typeof text === 'string' ? text : `${text.sqlite} ${text.postgres}`
    return pending.includes(migration) || LASTING.test(all) ? all.toLowerCase() : []
  })
  const words = new Set(texts.flatMap((text) => text.match(/\w+/g) ?? []))
  return resources.map(({ name }) => name).filter((name) => words.has(name))
}

const MIGRATIONS_TABLE = 'gh_service_migrations'
/** The columns that a start has added to a table in use. */
const ADDITIONS_TABLE = 'gh_service_additions'

/**
 * Applies a migration in its own transaction, so that the next one sees its tables. A migration of
 * a table that does not exist yet is recorded only: the start creates that table in the current
 * shape. Throws `DeclarationError` with the database's message if a statement fails.
 */
async function applyMigration(
  db: Database,
  service: ServiceDefinition,
  migration: MigrationOptions,
  progress: Progress,
): Promise<void> {
  const { number, name, table } = migration
  const { int, text } = db.dialect.types
  const checksum = checksumOf(db, migration)
  let isReported = false
  await db.migrate(async (tx, ddl) => {
    await ddl(`CREATE TABLE IF NOT EXISTS ${MIGRATIONS_TABLE} (
      number ${int} NOT NULL PRIMARY KEY, name ${text} NOT NULL, checksum ${text})`)
    // The lock of `migrate` admits one process at a time; another one can be faster.
    if ((await appliedNumbers(tx)).includes(number)) return
    if (table === undefined || (await tableExists(db, table))) {
      if (!isReported) progress(`migration ${number} of the service: ${name}`)
      isReported = true
      await ddl(sqlFor(db, migration.sql)).catch((error: unknown) => {
        throw describeError(migration, error)
      })
      const columns = overlapColumns(db, service, migration)
      if (columns.length > 0) await recordAdditions(tx, ddl, db, columns)
      // The SQL can change addresses without their folded texts.
      const definition = service.resources.find(({ name }) => name === table)
      if (definition && foldedColumns(definition.fields).length > 0) {
        await requestFill(db, tx, ddl, definition)
      }
    }
    await tx.run(sql`INSERT INTO gh_service_migrations (number, name, checksum)
      VALUES (${number}, ${name}, ${checksum})`)
  }, progress)
}

/** Returns the columns that nodes of the previous declaration meet beside a retired column. */
function overlapColumns(
  db: Database,
  { resources }: ServiceDefinition,
  { table, sql: text }: MigrationOptions,
): (readonly [table: string, column: string])[] {
  const definition = resources.find(({ name }) => name === table)
  if (!definition || definition.retired.length === 0) return []
  const columns = columnsAddedBy(typeof text === 'string' ? text : text[db.name])
  return columns.map((column) => [definition.name, column] as const)
}

/** Names the migration in an error of its SQL. Other errors, such as a lost connection, pass. */
function describeError({ number, name }: MigrationOptions, error: unknown): unknown {
  const cause = error instanceof Failure ? error.detail : error
  const isRejectedSql = !(error instanceof Failure) || error.code === 'invalid_request'
  if (!isRejectedSql || !(cause instanceof Error)) return error
  const index = cause instanceof ConstraintError && cause.kind === 'unique' && cause.index
  const reason = index ? `rows have equal values of the unique index ${index}` : cause.message
  return new DeclarationError(
    `Your migration ${number} (${name}) failed: ${reason}. Nothing of it was applied.`,
    { cause },
  )
}

const checksumOf = (db: Database, { sql: text }: MigrationOptions): string =>
  migrationChecksum(typeof text === 'string' ? text : text[db.name])

/** Returns the migrations that the database lacks. Throws if an applied one was edited. */
async function pendingMigrations(
  db: Database,
  service: ServiceDefinition,
): Promise<MigrationOptions[]> {
  if (service.migrations.length === 0) return []
  const columns = (await db.columns(MIGRATIONS_TABLE)).map(({ name }) => name)
  if (columns.length === 0) return [...service.migrations]
  if (!columns.includes('checksum')) await addChecksums(db, service)
  const rows = await db.all(sql`SELECT number, checksum FROM gh_service_migrations`)
  const checksums = new Map(rows.map(({ number, checksum }) => [Number(number), checksum]))
  for (const migration of service.migrations) {
    const checksum = checksums.get(migration.number)
    if (checksum == null || checksum === checksumOf(db, migration)) continue
    throw new DeclarationError(
      `Your migration ${migration.number} (${migration.name}) was edited after this database ` +
        'applied it. Restore its text, and add a migration with the next number.',
    )
  }
  return service.migrations.filter(({ number }) => !checksums.has(number))
}

/** Adds the checksums that an earlier release did not record. */
async function addChecksums(db: Database, service: ServiceDefinition): Promise<void> {
  await db.migrate(async (tx, ddl) => {
    await ddl(`ALTER TABLE ${MIGRATIONS_TABLE} ADD COLUMN checksum ${db.dialect.types.text}`)
    for (const migration of service.migrations) {
      await tx.run(sql`UPDATE gh_service_migrations SET checksum = ${checksumOf(db, migration)}
        WHERE number = ${migration.number}`)
    }
  })
}

/** Returns the columns that a start, perhaps of a newer declaration, has added to the table. */
async function listAdditions(db: Database, reader: Reader, table: string): Promise<string[]> {
  if (!(await tableExists(db, ADDITIONS_TABLE))) return []
  const rows = await reader.arrays(
    sql`SELECT column_name FROM gh_service_additions WHERE table_name = ${table}`,
  )
  return rows.map(([name]) => String(name))
}

/** Records added columns, so that the previous declaration can be started again (rollback). */
async function recordAdditions(
  tx: Tx,
  ddl: (sql: string) => Promise<void>,
  db: Database,
  columns: readonly (readonly [table: string, column: string])[],
): Promise<void> {
  const { text } = db.dialect.types
  await ddl(`CREATE TABLE IF NOT EXISTS ${ADDITIONS_TABLE} (table_name ${text} NOT NULL,
    column_name ${text} NOT NULL, PRIMARY KEY (table_name, column_name))`)
  for (const [table, column] of columns) {
    await tx.run(sql`INSERT INTO gh_service_additions (table_name, column_name)
      VALUES (${table}, ${column}) ON CONFLICT DO NOTHING`)
  }
}

/** Records the added columns of `source` in `target` too, whose tables were created with them. */
export async function copyAdditions(source: Database, target: Database): Promise<void> {
  if (!(await tableExists(source, ADDITIONS_TABLE))) return
  const rows = await source.arrays(sql`SELECT table_name, column_name FROM gh_service_additions`)
  const columns = rows.map(([table, column]) => [String(table), String(column)] as const)
  await target.migrate((tx, ddl) => recordAdditions(tx, ddl, target, columns))
}

const tableExists = async (db: Database, table: string): Promise<boolean> =>
  (await db.columns(table)).length > 0

async function appliedNumbers(reader: Reader): Promise<number[]> {
  const rows = await reader.arrays(sql`SELECT number FROM gh_service_migrations`)
  return rows.map((row) => Number(row[0]))
}

const sqlFor = (db: Database, text: MigrationOptions['sql']): string =>
  inDialect(typeof text === 'string' ? text : text[db.name], db.dialect)
