/**
 * The local installation, opened for a command: no port, no background work, no sample data unless
 * requested. Commands use it directly where no endpoint exists; the others go through `api.ts`.
 */
import { userInfo } from 'node:os'
import type { App } from '../app.ts'
import type { AppOptions } from '../assembly/foundation.ts'
import { tableExists } from '../declare/resources/additions.ts'
import { describePending, planMigration } from '../declare/resources/migrate.ts'
import { hasWords } from '../declare/resources/search-index.ts'
import type { Service } from '../declare/resources/service.ts'
import { wordTable } from '../declare/resources/table.ts'
import { pendingMigrations } from '../engine-tables.ts'
import { DEFAULT_CUSTOMER } from '../identity/access/administration.ts'
import { Failure } from '../kernel/failure.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { type Config, ConfigError, databaseTarget } from '../platform/config/config.ts'
import { databaseExists, databaseFile } from '../platform/config/environment.ts'
import { CLOCK_SETTING, type StoredClock } from '../platform/storage/clock-setting.ts'
import type { Database } from '../platform/storage/database.ts'
import { isCreation } from '../platform/storage/migrate.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { readSetting } from '../platform/storage/settings.ts'
import { type CommandOption, commandsOn, configOf, DIR_OPTION, type Input } from './command.ts'
import { printableDatabaseUrl } from './doctor-checks.ts'
import { CommandError } from './errors.ts'
import { packageVersion } from './own-package.ts'
import { findService, loadService } from './service-file.ts'
import { errorStream } from './terminal-log.ts'

/** The actor of audit rows: the account that runs the command. */
export const cliActor = () => ({ kind: 'cli', id: userInfo().username }) as const

/** The actor, and the customer where none is named. */
export const cliCaller = () => ({ actor: cliActor(), customer: DEFAULT_CUSTOMER })

export const installationOptions: readonly CommandOption[] = [DIR_OPTION]

export interface Opening {
  /** Creates the database, and applies migrations to it; for `migrate` and `seed` (§18.4). */
  readonly migrates?: boolean
  readonly ignoresNodes?: boolean
  readonly seed?: boolean
  readonly processKeys?: AppOptions['processKeys']
}

/** With one of these flags, links have the address that they describe. */
const ADDRESS_FLAGS = ['publicUrl', 'host', 'port'] as const

/** Opens the app, runs `use`, and closes the app in any case. Throws the errors of `openApp`. */
export async function withApp<T>(
  input: Input,
  use: (app: App) => Promise<T> | T,
  { migrates = false, seed = false, ignoresNodes, processKeys }: Opening = {},
): Promise<T> {
  const config = configOf(input)
  const serviceFile = findService(input.folder)
  const service = await loadService(serviceFile)
  // Standard output is for the result.
  const log = createLog({ level: 'warn', destination: errorStream(input.out.json) })
  if (!migrates) await requireInstallation(config, service, log)
  // Loaded here, so that --help and config start without the server's modules.
  const { openApp } = await import('../app.ts')
  const app = await openApp({
    config: { ...config, rateLimit: null },
    service,
    isReference: !serviceFile.isDeclared,
    log,
    seed,
    isCommand: true,
    fillsRows: migrates,
    onProgress: input.out.progress,
    release: packageVersion,
    adoptsNode: !ADDRESS_FLAGS.some((name) => name in input.flags),
    ...(ignoresNodes && { ignoresNodes }),
    ...(processKeys && { processKeys }),
  })
  try {
    return await use(app)
  } finally {
    await app.close()
  }
}

/** Commands without an endpoint, which use the local installation. */
export const installation = commandsOn(withApp, {
  options: installationOptions,
  config: ['databaseUrl'],
})

/**
 * Opens the database for a command that needs no declaration, so that it works in any folder.
 * Throws without a database, and without the tables of the engine.
 */
export async function withDatabase<T>(
  config: Config,
  log: Log,
  use: (db: Database) => Promise<T>,
): Promise<T> {
  if (!databaseExists(config)) throw missingInstallation(config)
  const db = await openDatabase(databaseTarget(config), { log })
  try {
    if (isCreation(await pendingMigrations(db))) throw missingInstallation(config)
    await requireSameClock(db, config)
    return await use(db)
  } finally {
    await db.close()
  }
}

/** Throws if the times of the command would be before those of the service (§12.6). */
async function requireSameClock(db: Database, { testClock }: Config): Promise<void> {
  const setting = testClock ? undefined : await readSetting<StoredClock>(db, CLOCK_SETTING)
  if (!setting) return
  throw new ConfigError([
    'The test clock of this database is set, and GATEHOOK_TEST_CLOCK is not 1 here: the command ' +
      'would use an earlier time than the service. Set it to 1 for the command too.',
  ])
}

/** Throws if the database lacks migrations of the engine. */
export async function requireMigrated(db: Database): Promise<void> {
  const engine = await pendingMigrations(db)
  if (engine.length > 0) throw missingPartsError(engine.map(({ name }) => `migration ${name}`))
}

const missingPartsError = (missingParts: readonly string[]) =>
  new CommandError(
    `The database lacks ${missingParts.join(', ')}. If it belongs to a service in another ` +
      'folder, name that folder: --dir DIR. If it belongs to this one: gatehook migrate',
  )

/**
 * Throws without an installation, and if a database in use lacks tables of the service. Opening
 * creates and migrates: in the wrong folder, a command would report an empty installation, or
 * create another service's tables.
 */
export async function requireInstallation(
  config: Config,
  service: Service,
  log: Log,
): Promise<void> {
  const missingParts = await withDatabase(config, log, async (db) => {
    await requireMigrated(db)
    return missingFrom(db, service)
  })
  if (missingParts.length > 0) throw missingPartsError(missingParts)
}

function missingInstallation(config: Config): CommandError {
  const file = databaseFile(config)
  if (file === undefined) {
    return new CommandError(
      `There is no installation in the database ${printableDatabaseUrl(config)}. Start the ` +
        'service first (gatehook start), or name its database in GATEHOOK_DATABASE_URL.',
    )
  }
  return new CommandError(
    `There is no database at ${file}. Start the service here first (gatehook ` +
      'start), run this in the folder where it was started, or name its file: ' +
      '--database-url sqlite:FILE',
  )
}

/**
 * Lists tables and columns that a database in use lacks. A node creates indexes, and completes
 * rows, while the service runs.
 */
async function missingFrom(db: Database, { definition }: Service): Promise<string[]> {
  const tables = (await planMigration(db, definition)).filter(
    ({ plan }) => plan.ddl.length + plan.rejected.length > 0,
  )
  const missing = tables.flatMap(describePending)
  for (const table of definition.resources.filter(hasWords).map(wordTable)) {
    if (!(await tableExists(db, table))) missing.push(`table ${table}`)
  }
  return missing
}

/** Replaces `not_found` by a sentence that names the object. */
export async function requireFound<T>(noun: string, id: string, result: Promise<T>): Promise<T> {
  try {
    return await result
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
    throw new CommandError(`There is no ${noun} ${id}.`)
  }
}
