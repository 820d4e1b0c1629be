/**
 * Brings the tables to what is declared (§6.6): the service's reviewed migrations first, each
 * once, then additions; anything else is named and refused.
 */
import { Failure } from '../kernel/failure.ts'
import type { Database, Reader, Tx } from '../storage/database.ts'
import { inDialect, migrationChecksum } from '../storage/migrate.ts'
import { sql } from '../storage/sql.ts'
import { DeclarationError } from './fields.ts'
import { inReferenceOrder, type MigrationOptions, type ServiceDefinition } from './service.ts'
import { planTable, type TablePlan } from './table.ts'

/** One line for each thing done. */
export type Progress = (line: string) => void

export interface Pending {
  /** '' for a migration that belongs to no table. */
  readonly table: string
  readonly plan: TablePlan
  /** The reviewed migrations it waits for, by number and name. */
  readonly migrations?: readonly string[]
}

/** What a table waits for, in words: its migrations, columns and indexes, or itself. */
export function wanting({ table, plan, migrations }: Pending): readonly string[] {
  const of = table === '' ? '' : ` of table ${table}`
  if (migrations) return migrations.map((migration) => `migration ${migration}${of}`)
  if (plan.ddl[0]?.startsWith('CREATE TABLE')) return [`table ${table}`]
  const added = gained(plan.ddl).map((one) => `${one} of table ${table}`)
  return plan.refused.length > 0 ? [...added, `a reviewed migration of table ${table}`] : added
}

/**
 * What the declaration needs of the database; nothing is changed. A table that waits for
 * migrations shows those: what it needs after them is known after them.
 */
export async function planService(db: Database, service: ServiceDefinition): Promise<Pending[]> {
  const pending: Pending[] = []
  const waiting = await missing(db, service)
  for (const { table, sql, number, name } of waiting) {
    if (table === undefined || (await exists(db, table))) {
      const plan = { ddl: [sqlFor(db, sql)], refused: [] }
      pending.push({ table: table ?? '', plan, migrations: [`${number} ${name}`] })
    }
  }
  for (const definition of inReferenceOrder(service.resources)) {
    const { name } = definition
    if (pending.some(({ table }) => table === name)) continue
    const existing = {
      columns: await db.columns(name),
      indexes: await db.indexes(name),
      additions: await additionsTo(db, name),
    }
    const plan = planTable(definition, existing, db.dialect)
    if (plan.ddl.length + plan.refused.length > 0) pending.push({ table: name, plan })
  }
  return pending
}

/** Throws `DeclarationError` when a change would not only add; then no table was changed for it. */
export async function migrateService(
  db: Database,
  service: ServiceDefinition,
  progress: Progress = () => {},
): Promise<void> {
  const waiting = await missing(db, service)
  for (const migration of waiting) {
    if (migration.table !== undefined) await applyOnce(db, migration, progress)
  }
  const pending = (await planService(db, service)).filter(({ migrations }) => !migrations)
  const refused = pending.flatMap(({ plan }) => plan.refused)
  if (refused.length > 0) {
    throw new DeclarationError(
      `The declaration changed in ways that need a reviewed migration:\n${refused.join('\n')}\n` +
        'Add it to service({ migrations: [{ number, name, table, sql }] }) and start again.',
    )
  }
  if (pending.length > 0) await applyAdditions(db, pending, progress)
  for (const migration of waiting) {
    if (migration.table === undefined) await applyOnce(db, migration, progress)
  }
}

async function applyAdditions(
  db: Database,
  pending: readonly Pending[],
  progress: Progress,
): Promise<void> {
  await db.migrate(async (tx, ddl) => {
    for (const { table, plan } of pending) {
      for (const statement of plan.ddl) await ddl(statement)
      progress(told(table, plan.ddl))
    }
    const added = pending.flatMap(({ table, plan }) => addedColumns(table, plan.ddl))
    if (added.length > 0) await recordAdditions(tx, ddl, db, added)
  })
}

const addedColumns = (table: string, ddl: readonly string[]) =>
  ddl.flatMap((statement) => {
    const column = /^ALTER TABLE \w+ ADD COLUMN (\w+)/.exec(statement)?.[1]
    return column === undefined ? [] : [[table, column] as const]
  })

/** What was done to a table, for the log: that it was made, else what it got. */
function told(table: string, ddl: readonly string[]): string {
  if (ddl[0]?.startsWith('CREATE TABLE')) return `table ${table} made`
  return `table ${table}: ${gained(ddl).join(', ')}`
}

/** Additions, in words: `column rating`. */
const gained = (ddl: readonly string[]): string[] =>
  ddl.map((statement) => {
    const found = /(?:ADD|CREATE UNIQUE|CREATE|DROP) (COLUMN|INDEX) (\w+)/.exec(statement)!
    const change = `${found[1]!.toLowerCase()} ${found[2]}`
    return statement.startsWith('DROP') ? `${change} dropped` : change
  })

const RECORD = 'gh_service_migrations'
/** Columns that a start has added to a table in use. */
const ADDITIONS = 'gh_service_additions'

/**
 * Applies one migration in a transaction of its own, so that the next one sees its tables. A
 * migration of a table that does not exist yet is recorded only: the start creates that table in
 * today's shape. Throws `DeclarationError` with the database's message when a statement fails.
 */
async function applyOnce(
  db: Database,
  migration: MigrationOptions,
  progress: Progress,
): Promise<void> {
  const { number, name, table } = migration
  const { int, text } = db.dialect.types
  const checksum = checksumOf(db, migration)
  await db.migrate(async (tx, ddl) => {
    await ddl(`CREATE TABLE IF NOT EXISTS ${RECORD} (
      number ${int} NOT NULL PRIMARY KEY, name ${text} NOT NULL, checksum ${text})`)
    // The lock of `migrate` admits one process at a time; another one may have been faster.
    if ((await numbersIn(tx)).includes(number)) return
    if (table === undefined || (await exists(db, table))) {
      progress(`migration ${number} of the service: ${name}`)
      await ddl(sqlFor(db, migration.sql)).catch((error: unknown) => {
        throw failed(migration, error)
      })
    }
    await tx.run(sql`INSERT INTO gh_service_migrations (number, name, checksum)
      VALUES (${number}, ${name}, ${checksum})`)
  })
}

/** Names the migration in an error of its SQL; other errors, such as a lost connection, pass. */
function failed({ number, name }: MigrationOptions, error: unknown): unknown {
  const cause = error instanceof Failure ? error.detail : error
  const isRejectedSql = !(error instanceof Failure) || error.code === 'invalid_request'
  if (!isRejectedSql || !(cause instanceof Error)) return error
  return new DeclarationError(
    `Your migration ${number} (${name}) failed: ${cause.message}. Nothing of it was applied.`,
    { cause },
  )
}

const checksumOf = (db: Database, { sql: text }: MigrationOptions): string =>
  migrationChecksum(typeof text === 'string' ? text : text[db.name])

/** Returns the migrations that the database lacks. Throws for one that was edited once applied. */
async function missing(db: Database, service: ServiceDefinition): Promise<MigrationOptions[]> {
  if (service.migrations.length === 0) return []
  const columns = (await db.columns(RECORD)).map(({ name }) => name)
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
    await ddl(`ALTER TABLE ${RECORD} ADD COLUMN checksum ${db.dialect.types.text}`)
    for (const migration of service.migrations) {
      await tx.run(sql`UPDATE gh_service_migrations SET checksum = ${checksumOf(db, migration)}
        WHERE number = ${migration.number}`)
    }
  })
}

/** Returns the columns that a start, perhaps of a newer declaration, has added to the table. */
async function additionsTo(db: Database, table: string): Promise<string[]> {
  if (!(await exists(db, ADDITIONS))) return []
  const rows = await db.arrays(
    sql`SELECT column_name FROM gh_service_additions WHERE table_name = ${table}`,
  )
  return rows.map(([name]) => String(name))
}

/** Records added columns, so that the previous declaration can be started again (rollback). */
async function recordAdditions(
  tx: Tx,
  ddl: (sql: string) => Promise<void>,
  db: Database,
  added: readonly (readonly [table: string, column: string])[],
): Promise<void> {
  const { text } = db.dialect.types
  await ddl(`CREATE TABLE IF NOT EXISTS ${ADDITIONS} (table_name ${text} NOT NULL,
    column_name ${text} NOT NULL, PRIMARY KEY (table_name, column_name))`)
  for (const [table, column] of added) {
    await tx.run(sql`INSERT INTO gh_service_additions (table_name, column_name)
      VALUES (${table}, ${column}) ON CONFLICT DO NOTHING`)
  }
}

const exists = async (db: Database, table: string): Promise<boolean> =>
  (await db.columns(table)).length > 0

async function numbersIn(reader: Reader): Promise<number[]> {
  const rows = await reader.arrays(sql`SELECT number FROM gh_service_migrations`)
  return rows.map((row) => Number(row[0]))
}

const sqlFor = (db: Database, text: MigrationOptions['sql']): string =>
  inDialect(typeof text === 'string' ? text : text[db.name], db.dialect)
