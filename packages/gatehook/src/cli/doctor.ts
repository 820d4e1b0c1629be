/** `gatehook doctor`: the table of its checks; exit 1 if one fails. */
import { openExistingVault } from '../assembly/secrets.ts'
import type { Service } from '../declare/resources/service.ts'
import { wallClock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { createLog } from '../kernel/log.ts'
import type { OnPart } from '../kernel/pace.ts'
import type { Vault } from '../kernel/secret.ts'
import { type Config, databaseTarget, type Flags } from '../platform/config/config.ts'
import { databaseExists, refuseRemains } from '../platform/config/environment.ts'
import type { Database } from '../platform/storage/database.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { isDamage, isDiskFull as isPostgresFull } from '../platform/storage/postgres-errors.ts'
import { isInstalled } from '../platform/storage/settings.ts'
import { isNotADatabase, isDiskFull as isSqliteFull } from '../platform/storage/sqlite-errors.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import type { CheckResult } from './doctor-checks.ts'
import * as checks from './doctor-checks.ts'
import * as deep from './doctor-deep.ts'
import * as state from './doctor-installation.ts'
import * as machine from './doctor-machine.ts'
import { EXIT, reportOfError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { alarm, dim, green, type Output, table as textTable, yellow } from './output.ts'
import { findService, loadService, type ServiceFile } from './service-file.ts'

const signs: Readonly<Record<CheckResult['state'], string>> = {
  ok: green('ok'),
  warn: yellow('warn'),
  fail: alarm('fail'),
}

type CheckResults = (CheckResult & { readonly check: string })[]

/** Holds the objects that the checks have opened so far. */
interface Subject {
  readonly flags: Flags
  readonly folder: string
  readonly serviceFile: ServiceFile
  readonly partsOf: (step: string) => OnPart
  service?: Service
  config?: Config
  db?: Database
  vault?: Vault | undefined
}

type Inspect = (subject: Subject) => Promise<CheckResult | undefined> | CheckResult | undefined

/** One check; undefined skips it. `hint`: the remedy if `inspect` throws. */
interface Check {
  readonly check: string
  readonly hint: string
  readonly inspect: Inspect
  /** Whether `--deep` alone runs it. */
  readonly isDeep?: true
}

const onConfig =
  (inspect: (config: Config, subject: Subject) => ReturnType<Inspect>): Inspect =>
  (subject) =>
    subject.config && inspect(subject.config, subject)

type Opened = Subject & Required<Pick<Subject, 'config' | 'db'>>

const onDatabase =
  (inspect: (opened: Opened) => ReturnType<Inspect>): Inspect =>
  ({ config, db, ...subject }) =>
    config && db && inspect({ ...subject, config, db })

/** Skips a database without tables, in which the check would miss them. */
const onTables = (inspect: (opened: Opened) => ReturnType<Inspect>): Inspect =>
  onDatabase(async (opened) => ((await isInstalled(opened.db)) ? inspect(opened) : undefined))

const inVault = (
  inspect: (opened: Opened & { readonly vault: Vault }) => ReturnType<Inspect>,
): Inspect => onTables(({ vault, ...opened }) => vault && inspect({ ...opened, vault }))

async function loadDeclaration(subject: Subject): Promise<CheckResult> {
  const service = await loadService(subject.serviceFile)
  subject.service = service
  if (!subject.serviceFile.isDeclared) return checks.ok('none declared here: the reference service')
  const { name, resources } = service.definition
  const names = resources.map((resource) => resource.name).join(', ')
  return checks.ok(`${name}: ${names || 'no resources'}`)
}

function loadConfiguration(subject: Subject): CheckResult {
  subject.config = configOf(subject)
  const { warnings } = subject.config
  if (warnings.length === 0) return checks.ok('every value is valid')
  return checks.warn(warnings.join(' '), 'Unset it, or correct its name.')
}

async function connect(config: Config, subject: Subject): Promise<CheckResult> {
  const url = checks.printableDatabaseUrl(config)
  refuseRemains(config)
  if (!databaseExists(config)) return checks.ok(`${url} (the first start creates it)`)
  const log = createLog({ level: 'silent' })
  subject.db = await openDatabase(databaseTarget(config), { log })
  if (await isInstalled(subject.db)) return checks.ok(url)
  return checks.ok(`${url} (it has no tables of Gatehook; the first start creates them)`)
}

/** Verifies that the master secret decrypts this database. Generates none. */
async function openSecret(config: Config, subject: Subject): Promise<CheckResult | undefined> {
  if (!subject.db) return undefined
  subject.vault = await openExistingVault(subject.db, config)
  return checks.ok('fits the database')
}

const FOLDER = 'Check the folder of the database.'
const DATABASE = 'Is it the database of this service?'
const DAMAGED = 'See docs/guides/operations.md, "The database is damaged".'

const table: readonly Check[] = [
  { check: 'node', hint: '', inspect: () => checks.checkNodeVersion(process.versions.node) },
  {
    check: 'service',
    hint: 'Correct the declaration: the service does not start without it.',
    inspect: loadDeclaration,
  },
  {
    check: 'configuration',
    hint: 'All options: gatehook config --markdown',
    inspect: loadConfiguration,
  },
  {
    check: 'data folder',
    hint: 'Check GATEHOOK_DATABASE_URL.',
    inspect: onConfig(checks.checkDataFolder),
  },
  {
    check: 'secret key',
    hint: 'Check the file secret.key.',
    inspect: onConfig(checks.checkPrivateFiles),
  },
  { check: 'request log', hint: FOLDER, inspect: onConfig(checks.checkMonitoringFile) },
  { check: 'disk', hint: FOLDER, inspect: onConfig(machine.checkDisk) },
  {
    check: 'certificate',
    hint: 'Check GATEHOOK_TLS_CERT.',
    inspect: onConfig((config) => machine.checkCertificate(config, wallClock)),
  },
  {
    check: 'port',
    hint: 'Check GATEHOOK_HOST and GATEHOOK_PORT.',
    inspect: onConfig(checks.checkPort),
  },
  {
    check: 'database',
    hint: 'Is it running, and may this user open it?',
    inspect: onConfig(connect),
  },
  {
    check: 'master secret',
    hint: 'See docs/guides/master-secret.md',
    inspect: onConfig(openSecret),
  },
  {
    check: 'copy',
    hint: DATABASE,
    inspect: onDatabase(({ config, db }) => state.checkCopy(config, db)),
  },
  { check: 'move', hint: DATABASE, inspect: onDatabase(({ db }) => state.checkMove(db)) },
  { check: 'restore', hint: DATABASE, inspect: onDatabase(({ db }) => state.checkRestore(db)) },
  {
    check: 'durability',
    hint: DATABASE,
    inspect: onDatabase(({ config, db }) => state.checkDurability(config, db)),
  },
  {
    check: 'tables',
    hint: DATABASE,
    inspect: onDatabase(({ db, service }) => state.checkTables(db, service)),
  },
  { check: 'locks', hint: DATABASE, inspect: onDatabase(({ db }) => state.checkLocks(db)) },
  {
    check: 'migrations',
    hint: DATABASE,
    inspect: onDatabase(({ db, service }) => checks.checkMigrations(db, service)),
  },
  {
    check: 'mail',
    hint: DATABASE,
    inspect: onConfig((config, { service, db }) => checks.checkMail(config, service, db)),
  },
  {
    check: 'outbox',
    hint: DATABASE,
    inspect: onDatabase(({ db }) => state.checkOutbox(db, wallClock)),
  },
  { check: 'jobs', hint: DATABASE, inspect: onDatabase(({ db }) => checks.checkJobs(db)) },
  {
    check: 'backup',
    hint: DATABASE,
    inspect: onTables(({ db }) => machine.checkBackup(db, wallClock)),
  },
  {
    check: 'clock',
    hint: DATABASE,
    inspect: onConfig((config, { db }) => checks.checkClock(wallClock, config, db)),
  },
  {
    check: 'pages',
    hint: DAMAGED,
    isDeep: true,
    inspect: onDatabase(({ db, partsOf }) => deep.checkDatabasePages(db, partsOf('pages'))),
  },
  {
    check: 'references',
    hint: DAMAGED,
    isDeep: true,
    inspect: onTables(({ db, partsOf }) => deep.checkForeignKeys(db, partsOf('references'))),
  },
  {
    check: 'deliveries',
    hint: DAMAGED,
    isDeep: true,
    inspect: onTables(({ db, partsOf }) => deep.checkDeliveries(db, partsOf('deliveries'))),
  },
  {
    check: 'totals',
    hint: DAMAGED,
    isDeep: true,
    inspect: onTables(
      ({ db, service, partsOf }) => service && deep.checkTotals(db, service, partsOf('totals')),
    ),
  },
  {
    check: 'encryption',
    hint: DAMAGED,
    isDeep: true,
    inspect: inVault(({ db, vault, partsOf }) =>
      deep.checkEncryption(db, vault, partsOf('encryption')),
    ),
  },
  {
    check: 'audit chain',
    hint: DAMAGED,
    isDeep: true,
    inspect: inVault(({ db, vault, partsOf }) =>
      deep.checkAuditChain(db, vault, partsOf('audit chain')),
    ),
  },
]

/** Runs the checks in order. Later checks use what earlier ones have opened. */
async function runChecks({ flags, folder, options, out }: Input): Promise<CheckResults> {
  const serviceFile = findService(folder)
  const subject: Subject = { flags, folder, serviceFile, partsOf: deep.createParts(out, wallClock) }
  const results: CheckResults = []
  for (const { check, hint, inspect, isDeep } of table) {
    if (isDeep && options.deep !== true) continue
    try {
      const result = await inspect(subject)
      if (result) results.push({ check, ...result })
    } catch (error) {
      const report = reportOfError(error)
      const detail = report ? report.sentences.join(' ') : (error as Error).message
      results.push({ check, ...checks.fail(detail, remedyOf(error) ?? hint) })
    }
  }
  await subject.db?.close()
  return results
}

/** Returns the remedy of an error that has one, whatever the check. */
function remedyOf(error: unknown): string | undefined {
  const { cause } = error as Error
  const detail = error instanceof Failure ? error.detail : (cause ?? error)
  if (isSqliteFull(detail) || isPostgresFull(detail)) {
    return 'Free space: docs/guides/operations.md, "The disk is full".'
  }
  return isNotADatabase(detail) || isDamage(detail) ? DAMAGED : undefined
}

function printResults(results: CheckResults, out: Output): void {
  out.result({ checks: results }, () =>
    textTable(
      ['check', 'state', 'detail'],
      results.map(({ check, state, detail, hint }) => [
        check,
        signs[state],
        hint ? `${detail}\n${' '.repeat(23)}${dim(`→ ${hint}`)}` : detail,
      ]),
    ),
  )
}

async function run(input: Input): Promise<number> {
  const results = await runChecks(input)
  printResults(results, input.out)
  return results.some(({ state }) => state === 'fail') ? EXIT.failed : EXIT.ok
}

export const doctor: CommandSpec = {
  name: 'doctor',
  summary: 'find problems of this machine, the configuration and the database',
  description:
    'Checks this machine, the configuration and the database, beside a running service too. ' +
    'Changes nothing. With --deep it also reads all data: damaged pages, deliveries that are cut ' +
    'off, totals, encrypted values and the audit chain. It then rests as long as it works.',
  options: [...installationOptions, ['--deep', 'read all data; minutes for a large database']],
  config: 'all',
  examples: [
    ['gatehook doctor', 'exit 1 if a check fails'],
    ['gatehook doctor --deep', 'each week, and after a crash of the machine'],
    ['gatehook doctor --json', 'for monitors'],
  ],
  run,
}
