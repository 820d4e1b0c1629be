/**
 * Lists the statements that the next start runs, with their locks and estimates, for `gatehook
 * migrate --plan`. Changes nothing: the pending migrations of the service are rolled back.
 */
import { engineSchema, pendingMigrations } from '../../engine-tables.ts'
import type { Database } from '../../platform/storage/database.ts'
import { changeSql } from '../../platform/storage/migrate.ts'
import {
  classifyLock,
  type StatementLock,
  splitStatements,
} from '../../platform/storage/sql-statements.ts'
import { columnsToCompute } from './computed-fill.ts'
import { checkDerivedFields } from './derived-check.ts'
import { foldedColumns } from './folded-columns.ts'
import { addedColumns, isNewTable, planMigration, rehearsePlans } from './migrate.ts'
import { pendingMigrations as pendingReviewed } from './reviewed-migrations.ts'
import type { ServiceDefinition } from './service.ts'

interface PlannedStatement extends StatementLock {
  readonly sql: string
  /** The table of a resource; null for other tables. */
  readonly table: string | null
  /** `engine migration 24`, `migration 1`, `declaration`. */
  readonly origin: string
  /** Whether the start waits for it, or the running service does it. */
  readonly runs: 'at start' | 'while the service runs'
  /** The rows and bytes that the statement reads; bytes are null on SQLite. */
  readonly rows: number
  readonly bytes: number | null
  /** An estimate for a machine of two cores. */
  readonly seconds: number
}

export interface MigrationPlan {
  readonly statements: readonly PlannedStatement[]
  /** Sentences about changes that need a reviewed migration: the start fails. */
  readonly rejected: readonly string[]
  /** Tables with further changes that are unknown, because a migration failed in the rehearsal. */
  readonly dependent: readonly string[]
}

/** Rows a second of each kind of work, measured on two cores; concurrent indexes read twice. */
const ROWS_PER_S = { index: 500_000, concurrentIndex: 250_000, change: 50_000, words: 10_000 }

/** Statements that read or change all rows; others change the catalog only. */
const READS_ROWS: readonly (readonly [pattern: RegExp, rowsPerS: number])[] = [
  [/^CREATE INDEX CONCURRENTLY/i, ROWS_PER_S.concurrentIndex],
  [/^CREATE (UNIQUE )?INDEX/i, ROWS_PER_S.index],
  [/^(UPDATE|DELETE|INSERT)\b/i, ROWS_PER_S.change],
  [/^ALTER TABLE .*(\bTYPE\b|SET NOT NULL|ADD (CONSTRAINT|FOREIGN|CHECK))/i, ROWS_PER_S.change],
  [/^index the words|^compute/, ROWS_PER_S.words],
]

type Work = Pick<PlannedStatement, 'sql' | 'origin' | 'runs'> & { readonly table: string }

/** Throws the errors of `planMigration`. */
export async function planStatements(
  db: Database,
  service: ServiceDefinition,
): Promise<MigrationPlan> {
  const engine = (await pendingMigrations(db)).flatMap((migration) =>
    changeSql(db, engineSchema, migration)
      .flatMap(splitStatements)
      .map(
        (sql): Work => ({
          sql,
          table: '',
          origin: `engine migration ${migration.number}`,
          runs: 'at start',
        }),
      ),
  )
  await checkDerivedFields(db, service.resources)
  const rehearsed = await rehearsePlans(db, service, await pendingReviewed(db, service))
  const pending = await planMigration(db, service, rehearsed)
  const fills = new Set(
    pending.flatMap(({ table, isComputedFill }) => (isComputedFill ? table : [])),
  )
  for (const definition of service.resources) {
    const added = pending.filter(({ table }) => table === definition.name)
    const columns = added.flatMap(({ plan }) => (isNewTable(plan) ? [] : addedColumns(plan)))
    const isFoldedAgain =
      foldedColumns(definition.fields).length > 0 && added.some(({ migrations }) => migrations)
    const isComputed = columnsToCompute(definition, columns).length > 0
    if (isComputed || isFoldedAgain) fills.add(definition.name)
  }
  const computed = [...fills].map(
    (table): Work => ({
      sql: `compute the stored fields of all rows of ${table}, 500 in each transaction`,
      table,
      origin: 'declaration',
      runs: 'at start',
    }),
  )
  const work = [...engine, ...pending.flatMap((change) => listWork(db, change)), ...computed]
  const statements: PlannedStatement[] = []
  for (const item of work) statements.push(await estimate(db, item))
  const isReviewed = ({ migrations, table }: (typeof pending)[number]) =>
    !rehearsed && migrations !== undefined && table !== ''
  return {
    statements,
    rejected: pending.flatMap(({ plan }) => plan.rejected),
    dependent: [...new Set(pending.filter(isReviewed).map(({ table }) => table))],
  }
}

/** Returns the statements of a pending change in the order of a start. */
function listWork(
  { dialect }: Database,
  { table, plan, migrations, isSearchIndex }: Awaited<ReturnType<typeof planMigration>>[number],
): Work[] {
  const { keyword, runs: later } = dialect.indexing
  const item = (sql: string, runs: Work['runs'] = 'at start'): Work => ({
    sql,
    table,
    origin: migrations ? `migration ${migrations.join(', ')}` : 'declaration',
    runs,
  })
  if (isSearchIndex) {
    return [item(`index the words of all rows of ${table}, 1,000 in each transaction`)]
  }
  return [
    ...plan.ddl.flatMap(splitStatements).map((sql) => item(sql)),
    ...plan.indexes.map(({ name, definition }) =>
      item(`CREATE INDEX${keyword} ${name} ${definition}`, later),
    ),
    ...plan.unusedIndexes.map((name) => item(`DROP INDEX${keyword} ${name}`, later)),
  ]
}

async function estimate(db: Database, { table, ...work }: Work): Promise<PlannedStatement> {
  const { sql } = work
  // A statement of an engine migration, or of the team, can name another table.
  const named = /\b(?:ON|TABLE|UPDATE|FROM|INTO) +(?:IF EXISTS +)?(\w+)/i.exec(sql)?.[1] ?? table
  const size = await db.size(/^\w+$/.test(named) ? named : table)
  const [, rowsPerS] = READS_ROWS.find(([pattern]) => pattern.test(sql)) ?? []
  return {
    ...work,
    table: table === '' ? null : table,
    ...classifyLock(db.name, sql),
    rows: rowsPerS === undefined ? 0 : size.rows,
    bytes: rowsPerS === undefined ? 0 : (size.bytes ?? null),
    seconds: rowsPerS === undefined ? 0 : Math.ceil(size.rows / rowsPerS),
  }
}
