/**
 * Migrates the tables to the declaration (§6.6): first the service's reviewed migrations, each
 * once, then additions. It rejects any other change with a sentence.
 */

import { wallClock } from '../../kernel/clock.ts'
import { type Random, systemRandom } from '../../kernel/random.ts'
import { createEnqueue } from '../../platform/jobs/queue.ts'
import type { Database, Dialect, Tx } from '../../platform/storage/database.ts'
import { DeclarationError } from '../../protocol/fields/declaration-mistakes.ts'
import { listAdditions, recordAdditions, recordTables, tableExists } from './additions.ts'
import { columnsToCompute, fillComputedFields, filledColumns } from './computed-fill.ts'
import { checkDerivedFields } from './derived-check.ts'
import { buildIndexes, type IndexChanges } from './index-builds.ts'
import { orderByReference } from './reference-order.ts'
import { requestRefills } from './refills.ts'
import type { ResourceDefinition } from './resource.ts'
import {
  applyMigration,
  pendingMigrations,
  type ReviewedMode,
  rehearseMigrations,
  sqlFor,
} from './reviewed-migrations.ts'
import { listPendingFills, requestFill } from './row-fill.ts'
import {
  createWordTables,
  fillSearchIndexes,
  findOutdatedIndexes,
  resetSearchIndexes,
} from './search-fill.ts'
import type { MigrationOptions, ServiceDefinition } from './service.ts'
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
  const { table, plan, migrations, isSearchIndex, isComputedFill } = pending
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

/** The plans of the tables behind the pending migrations, by table. */
export type RehearsedPlans = ReadonlyMap<string, TablePlan>

/**
 * Plans all tables behind the pending migrations, which are rolled back. With `mode`, it throws as
 * `rehearseMigrations` does.
 */
export const rehearsePlans = async (
  db: Database,
  { resources }: ServiceDefinition,
  migrations: readonly MigrationOptions[],
  mode?: ReviewedMode,
): Promise<RehearsedPlans | undefined> =>
  rehearseMigrations(
    db,
    migrations,
    async (tx) => {
      const plans = new Map<string, TablePlan>()
      for (const definition of resources) {
        plans.set(definition.name, await planStoredTable(db, definition, tx))
      }
      return plans
    },
    mode,
  )

/**
 * Returns the changes that the declaration requires, without applying them. Without `rehearsed`, a
 * table with pending migrations lists only those: its other changes depend on them.
 */
export async function planMigration(
  db: Database,
  service: ServiceDefinition,
  rehearsed?: RehearsedPlans,
): Promise<PendingTable[]> {
  const pending: PendingTable[] = []
  const reviewed = await pendingMigrations(db, service)
  for (const { table, sql, number, name } of reviewed) {
    if (table === undefined || (await tableExists(db, table))) {
      const plan = planOf([sqlFor(db, sql)])
      pending.push({ table: table ?? '', plan, migrations: [`${number} ${name}`] })
    }
  }
  for (const definition of orderByReference(service.resources)) {
    const { name } = definition
    const planned = rehearsed?.get(name)
    if (!planned && pending.some(({ table }) => table === name)) continue
    const plan = planned ?? (await planStoredTable(db, definition))
    const { ddl, indexes, unusedIndexes, rejected } = plan
    if ([ddl, indexes, unusedIndexes, rejected].some((changes) => changes.length > 0))
      pending.push({ table: name, plan })
  }
  for (const table of await listPendingFills(db, 'columns')) {
    if (!service.resources.some(({ name }) => name === table)) continue
    pending.push({ table, plan: planOf([]), isComputedFill: true })
  }
  const changed = reviewed.length > 0 ? changedTables(service, reviewed) : []
  for (const { name } of await findOutdatedIndexes(db, service.resources, changed)) {
    pending.push({ table: name, plan: planOf([]), isSearchIndex: true })
  }
  return pending
}

async function planStoredTable(
  db: Database,
  definition: ResourceDefinition,
  tx?: Tx,
): Promise<TablePlan> {
  const { name } = definition
  const stored = {
    columns: await db.columns(name, tx),
    indexes: await db.indexes(name, tx),
    additions: await listAdditions(db, tx ?? db, name),
  }
  return planTable(definition, stored, db.dialect)
}

export interface MigrationMode {
  /**
   * Leaves indexes of tables in use to `index-builds.ts`, if the database creates them without
   * delay to requests. Default: creates them.
   */
  readonly defersIndexes?: boolean
  /** Takes columns from nodes that run, in place of `NodesRunError`. */
  readonly ignoresNodes?: boolean
  /** Computes nothing: a move copies the rows, their values, and the state of unfinished fills. */
  readonly isMoveTarget?: boolean
  /**
   * Leaves the rows of tables in use to a node: for a command beside one, and where the statements
   * are recorded and rolled back.
   */
  readonly leavesRows?: boolean
  /** The present, in epoch milliseconds. */
  readonly now?: () => number
  readonly random?: Random
}

/**
 * Applies the pending migrations and additions. Returns the changes of indexes that remain. Throws
 * `DeclarationError` if a change needs a reviewed migration that is missing; then it changes
 * nothing. Throws also the errors of `applyMigration`.
 */
export async function migrateService(
  db: Database,
  service: ServiceDefinition,
  progress: Progress = () => {},
  mode: MigrationMode = {},
): Promise<IndexChanges> {
  const { ignoresNodes = false, isMoveTarget = false } = mode
  const { now = wallClock.now, random = systemRandom() } = mode
  const applied: string[] = []
  const reviewed = { ignoresNodes, now, progress, applied }
  await checkDerivedFields(db, service.resources)
  const migrations = await pendingMigrations(db, service)
  const rehearsed = await rehearsePlans(db, service, migrations, reviewed)
  if (rehearsed) requireAccepted([...rehearsed.values()])
  if (migrations.length > 0) await resetSearchIndexes(db, changedTables(service, migrations))
  for (const migration of migrations) {
    if (migration.table !== undefined) await applyMigration(db, service, migration, reviewed)
  }
  const pending = (await planMigration(db, service)).filter(
    ({ migrations, isSearchIndex, isComputedFill }) =>
      !migrations && !isSearchIndex && !isComputedFill,
  )
  requireAccepted(pending.map(({ plan }) => plan))
  const split = mode.defersIndexes ? db.dialect.splitWork : doAtStart
  for (const { table, plan } of pending) {
    const definition = service.resources.find(({ name }) => name === table)!
    const indexes = split(plan.indexes).atStart
    const unusedIndexes = split(plan.unusedIndexes).atStart
    const work = { ...plan, indexes, unusedIndexes }
    await applyAdditions(db, definition, work, { isMoveTarget, progress })
    applied.push(...describePending({ table, plan: work }))
  }
  for (const migration of migrations) {
    if (migration.table === undefined) await applyMigration(db, service, migration, reviewed)
  }
  if (isMoveTarget) await createWordTables(db, service.resources)
  else if (mode.leavesRows) await fillSearchIndexes(db, createdBy(pending, service), progress)
  else {
    // Before the fills: nodes that run may write rows after them.
    const enqueue = createEnqueue({ clock: { now }, random, wake() {} })
    await requestRefills(db, service.resources, { nowMs: now(), enqueue })
    await fillComputedFields(db, service, progress)
    await fillSearchIndexes(db, service.resources, progress)
  }
  return {
    missing: split(pending.flatMap(({ plan }) => plan.indexes)).later,
    unused: split(pending.flatMap(({ plan }) => plan.unusedIndexes)).later,
  }
}

const doAtStart: Dialect['splitWork'] = (work) => ({ atStart: work, later: [] })

/** Returns the resources whose tables are new, and thus empty. */
const createdBy = (pending: readonly PendingTable[], { resources }: ServiceDefinition) =>
  resources.filter(({ name }) =>
    pending.some(({ table, plan }) => table === name && isNewTable(plan)),
  )

/** Throws `DeclarationError` with a sentence per change that needs a further migration. */
function requireAccepted(plans: readonly TablePlan[]): void {
  const rejected = plans.flatMap((plan) => plan.rejected)
  if (rejected.length === 0) return
  throw new DeclarationError(
    `The declaration changed in ways that need a reviewed migration:\n${rejected.join('\n')}\n` +
      'Add it to service({ migrations: [{ number, name, table, sql }] }) and start again.',
  )
}

interface AdditionMode extends Required<Pick<MigrationMode, 'isMoveTarget'>> {
  readonly progress: Progress
}

/** Creates the table, or adds its columns, then its indexes. */
async function applyAdditions(
  db: Database,
  definition: ResourceDefinition,
  plan: TablePlan,
  { isMoveTarget, progress }: AdditionMode,
): Promise<void> {
  const { name: table } = definition
  if (plan.ddl.length > 0) {
    await db.migrate(async (tx, ddl) => {
      // Another node can have been faster.
      const current = await planStoredTable(db, definition, tx)
      for (const statement of current.ddl) await ddl(statement)
      const names = addedColumns(current)
      const computed = filledColumns(definition)
      const columns = names.map((column) => [table, column, computed.includes(column)] as const)
      if (columns.length > 0) await recordAdditions(tx, columns)
      if (isNewTable(current)) await recordTables(tx, [table])
      if (!isMoveTarget && columnsToCompute(definition, names).length > 0) {
        await requestFill(tx, table, 'columns')
      }
    }, progress)
  }
  if (isNewTable(plan)) return progress(`table ${table} created`)
  await buildIndexes(db, plan.indexes, { onProgress: progress })
  if (plan.unusedIndexes.length > 0) await db.dropIndexes(plan.unusedIndexes)
  const changes = [...describeColumns(plan), ...describeIndexes(plan)]
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
