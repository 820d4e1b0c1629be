/** `gatehook migrate` and `gatehook seed`: the first steps of a start, without serving. */

import type { App } from '../app.ts'
import { refuseOtherService, requireOwnTables } from '../declare/resources/database-owner.ts'
import { type MigrationPlan, planStatements } from '../declare/resources/migration-plan.ts'
import { migrationSql } from '../declare/resources/migration-sql.ts'
import type { Service } from '../declare/resources/service.ts'
import { wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { type Config, databaseTarget } from '../platform/config/config.ts'
import { databaseExists } from '../platform/config/environment.ts'
import { listRunningNodes } from '../platform/nodes/registry.ts'
import type { Database } from '../platform/storage/database.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { findPlace } from '../platform/storage/postgres-place.ts'
import { isInstalled } from '../platform/storage/settings.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { EXIT, UsageError } from './errors.ts'
import { installation, installationOptions, withApp } from './installation.ts'
import { alarm, countRows, dim, formatCount } from './output.ts'
import { printableSql } from './printable-sql.ts'
import { findService, loadService } from './service-file.ts'

async function runMigrate(input: Input): Promise<number | undefined> {
  const { plan, print } = input.options
  if (plan === true && print === true) throw new UsageError('Name one: --plan or --print')
  if (plan === true) return printPlan(input)
  if (print === true) return printSql(input)
  const lines: string[] = []
  const onProgress = (line: string) => {
    lines.push(line)
    input.out.progress(line)
  }
  const out = { ...input.out, progress: onProgress }
  const finish = (app: App) => app.finishIndexes(input.out.progress, onProgress)
  const ignoresNodes = input.options.force === true
  await withApp({ ...input, out }, finish, { migrates: true, ignoresNodes })
  input.out.result({ applied: lines }, () =>
    lines.length === 0 ? 'The database is up to date.' : 'The database is up to date now.',
  )
  return
}

interface PlanReport extends MigrationPlan {
  /** The names of nodes that run, from which no migration may take a column. */
  readonly nodes: readonly string[]
}

const NO_PLAN: PlanReport = { statements: [], rejected: [], dependent: [], nodes: [] }

/** Prints what the database lacks as SQL for the migrations of a team (§17.2). */
async function printSql(input: Input): Promise<undefined> {
  const config = configOf(input)
  const place = findPlace(databaseTarget(config))
  if (!place) throw new UsageError('--print writes SQL for PostgreSQL: set GATEHOOK_DATABASE_URL.')
  const { schema } = place
  const mode = { clock: wallClock, schema, onWait: input.out.progress }
  const file = findService(input.folder)
  const service = await loadService(file)
  const statements = await onDatabase(config, service, !file.isDeclared, (db) =>
    migrationSql(db, service.definition, mode),
  )
  input.out.result({ statements }, () =>
    statements.length === 0 ? '-- The database is up to date.' : printableSql(input, statements),
  )
  return
}

/** Prints the statements of the next start; exit 1 if it would fail. */
async function printPlan(input: Input): Promise<number> {
  const config = configOf(input)
  const { out } = input
  const file = findService(input.folder)
  const service = await loadService(file)
  const exists = databaseExists(config)
  const plan = exists
    ? await onDatabase(config, service, !file.isDeclared, (db) => readPlan(db, service))
    : NO_PLAN
  const text = () => (exists ? formatPlan(plan) : 'There is no database yet: a start creates it.')
  out.result(plan, text)
  return plan.rejected.length > 0 ? EXIT.failed : EXIT.ok
}

async function readPlan(db: Database, { definition }: Service): Promise<PlanReport> {
  const plan = await planStatements(db, definition)
  const nodes = (await isInstalled(db)) ? await listRunningNodes(db, wallClock.now()) : []
  return { ...plan, nodes: nodes.map(({ name }) => name) }
}

/** Throws what `migrate` throws before it changes anything. */
async function onDatabase<T>(
  config: Config,
  service: Service,
  isReference: boolean,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  const db = await openDatabase(databaseTarget(config), { log: createLog({ level: 'silent' }) })
  try {
    const { definition } = service
    if (isReference) await refuseOtherService(db, definition)
    await requireOwnTables(db, definition, { isReference })
    return await use(db)
  } finally {
    await db.close()
  }
}

/** A block for each statement: the SQL, then its lock and estimate. */
function formatPlan({ statements, rejected, dependent, nodes }: PlanReport): string {
  const blocks = statements.map((statement) => {
    const { origin, runs, sql, table, lock, blocks, rows, bytes, seconds } = statement
    const size = bytes ? `, ${formatCount(Math.ceil(bytes / 1_000_000))} MB` : ''
    const cost = rows > 0 ? `${countRows(rows)}${size}, about ${seconds} s` : 'no rows'
    const limit = blocks === 'reads and writes' && rows === 0 ? ' for at most 0.4 s at a time' : ''
    const wait = blocks === 'nothing' ? 'nothing waits' : `${blocks} wait${limit}`
    const named = table === null || sql.split(/\W+/).includes(table) ? '' : ` · table ${table}`
    const effect = `lock ${lock ?? 'none'}: ${wait} · ${cost}`
    return `${sql};\n  ${dim(`${origin}, ${runs}${named} · ${effect}`)}`
  })
  const further = dependent.map((table) => `Then the declared changes of table ${table} follow.`)
  const refusals = rejected.map((sentence) => `${alarm('refused')} ${sentence}`)
  const isReviewed = statements.some(({ origin }) => origin.startsWith('migration '))
  const running =
    isReviewed && nodes.length > 0
      ? [`Nodes run: ${nodes.join(', ')}. A migration that takes a column of theirs is refused.`]
      : []
  const lines = [...blocks, ...further, ...refusals, ...running]
  return lines.length === 0 ? 'The database is up to date.' : lines.join('\n')
}

export const migrate: CommandSpec = {
  name: 'migrate',
  summary: 'bring the database up to date, without starting',
  description:
    'Applies pending migrations of the engine and additions of the declaration. A change that ' +
    'is not an addition is an error, as it is at start. On PostgreSQL nodes can serve meanwhile. ' +
    'A migration that removes or renames a column which running nodes use is refused.',
  options: [
    ...installationOptions,
    ['--plan', 'print the statements, their locks and estimates; change nothing'],
    ['--print', 'print SQL for your own migrations (PostgreSQL); change nothing'],
    ['--force', 'take columns from running nodes: they answer 503 until they end'],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook migrate', 'before nodes of a new release start'],
    ['gatehook migrate --print > 0007_gatehook.sql', 'what the schema lacks'],
    ['gatehook migrate --plan', 'exit 1 if a change needs a reviewed migration'],
  ],
  run: runMigrate,
}

export const seed: CommandSpec = installation.action({
  name: 'seed',
  summary: 'sample data in test mode, for empty collections',
  description: 'Fills empty collections of the default customer, test mode, with declared samples.',
  examples: [['gatehook seed', 'after a start with --no-seed']],
  opening: { migrates: true, seed: true },
  act: ({ seeded }) => ({ rows: seeded }),
  describe({ rows }) {
    const total = Object.values(rows).reduce((sum, count) => sum + count, 0)
    return total === 0
      ? 'There are rows already; nothing was added.'
      : Object.entries(rows)
          .map(([name, count]) => `${name}: ${countRows(count)}`)
          .join('\n')
  },
})
