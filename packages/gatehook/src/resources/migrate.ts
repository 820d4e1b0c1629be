/**
 * Brings the tables to what is declared (§6.6): the service's reviewed migrations first, each
 * once, then additions; anything else is named and refused.
 */
import type { Database, Reader } from '../storage/database.ts'
import { inDialect } from '../storage/migrate.ts'
import { sql } from '../storage/sql.ts'
import { DeclarationError } from './fields.ts'
import { inReferenceOrder, type MigrationOptions, type ServiceDefinition } from './service.ts'
import { planTable, type TablePlan } from './table.ts'

/** One line for each thing done. */
export type Progress = (line: string) => void

export interface Pending {
  readonly table: string
  readonly plan: TablePlan
  /** The reviewed migrations it waits for, by number and name. */
  readonly migrations?: readonly string[]
}

/** What a table waits for, in words: its migrations, columns and indexes, or itself. */
export function wanting({ table, plan, migrations }: Pending): readonly string[] {
  if (migrations) return migrations.map((one) => `migration ${one} of table ${table}`)
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
    if (await exists(db, table)) {
      const plan = { ddl: [sqlFor(db, sql)], refused: [] }
      pending.push({ table, plan, migrations: [`${number} ${name}`] })
    }
  }
  for (const definition of inReferenceOrder(service.resources)) {
    const { name } = definition
    if (pending.some(({ table }) => table === name)) continue
    const existing = { columns: await db.columns(name), indexes: await db.indexes(name) }
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
  for (const migration of await missing(db, service)) await applyOnce(db, migration, progress)
  const pending = await planService(db, service)
  const refused = pending.flatMap(({ plan }) => plan.refused)
  if (refused.length > 0) {
    throw new DeclarationError(
      `The declaration changed in ways that need a reviewed migration:\n${refused.join('\n')}\n` +
        'Add it to service({ migrations: [{ number, name, table, sql }] }) and start again.',
    )
  }
  if (pending.length === 0) return
  await db.migrate(async (_tx, ddl) => {
    for (const { table, plan } of pending) {
      for (const statement of plan.ddl) await ddl(statement)
      progress(told(table, plan.ddl))
    }
  })
}

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

/**
 * One transaction each, so that the next one sees its tables. A table that is not there yet will
 * be made in today's shape and needs no migration: it is only noted.
 */
async function applyOnce(
  db: Database,
  migration: MigrationOptions,
  progress: Progress,
): Promise<void> {
  const { number, name, table } = migration
  const { int, text } = db.dialect.types
  await db.migrate(async (tx, ddl) => {
    await ddl(`CREATE TABLE IF NOT EXISTS ${RECORD} (
      number ${int} NOT NULL PRIMARY KEY, name ${text} NOT NULL)`)
    // Another process may have been faster: the lock of `migrate` lets one through at a time.
    if ((await numbersIn(tx)).includes(number)) return
    if (await exists(db, table)) {
      progress(`migration ${number} of the service: ${name}`)
      await ddl(sqlFor(db, migration.sql))
    }
    await tx.run(sql`INSERT INTO gh_service_migrations (number, name) VALUES (${number}, ${name})`)
  })
}

async function missing(db: Database, service: ServiceDefinition): Promise<MigrationOptions[]> {
  if (service.migrations.length === 0) return []
  const have = (await exists(db, RECORD)) ? await numbersIn(db) : []
  return service.migrations.filter(({ number }) => !have.includes(number))
}

const exists = async (db: Database, table: string): Promise<boolean> =>
  (await db.columns(table)).length > 0

async function numbersIn(reader: Reader): Promise<number[]> {
  const rows = await reader.arrays(sql`SELECT number FROM gh_service_migrations`)
  return rows.map((row) => Number(row[0]))
}

const sqlFor = (db: Database, text: MigrationOptions['sql']): string =>
  inDialect(typeof text === 'string' ? text : text[db.name], db.dialect)
