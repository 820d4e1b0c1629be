/** Opens the engine for a command that only acts on the database: no port, no sample data. */
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { DEFAULT_CUSTOMER } from '../access/administration.ts'
import type { App } from '../app.ts'
import { type Config, databaseAddress } from '../config/config.ts'
import { readConfig } from '../config/environment.ts'
import { Failure } from '../kernel/failure.ts'
import { createLog, type Log } from '../kernel/log.ts'
import { planService, wanting } from '../resources/migrate.ts'
import type { Service } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import { pending } from '../storage/migrate.ts'
import { migrations } from '../storage/migrations.ts'
import { openDatabase } from '../storage/open.ts'
import { databaseExists, databaseShown } from './checks.ts'
import type { CommandSpec, Input } from './command.ts'
import { serviceOf } from './load.ts'
import { CommandError } from './mistake.ts'
import { commandsWith } from './runner.ts'
import { packageVersion } from './version.ts'

/** Who the audit trail names for acts of the command line: the account that runs it. */
export const cliActor = () => ({ kind: 'cli', id: userInfo().username }) as const

/** The same, as acts take it that make something of a customer's. */
export const cliCaller = () => ({ actor: cliActor(), customer: DEFAULT_CUSTOMER })

/** Log lines of commands go beside the result, not into it. */
const standardError = { write: (line: string) => void process.stderr.write(line) }

/** Options of every command that opens the engine. */
export const engineOptions: NonNullable<CommandSpec['options']> = [
  ['--dir <DIR>', 'folder of service.ts (default: this folder)'],
]

export interface Opening {
  /**
   * Brings a database up to date that is in use already; others leave that to start and migrate.
   */
  readonly migrates?: boolean
  readonly seed?: boolean
  /** Makes a SQLite database where there is none: what it does comes before the first start. */
  readonly creates?: boolean
}

/** Of commands that make what the first start finds: a key, a person. */
export const FIRST: Opening = { creates: true }

/** Opens, lets `use` act, and closes in any case. Throws what `openApp` throws. */
export async function withApp<T>(
  input: Input,
  use: (app: App) => Promise<T> | T,
  { migrates = false, seed = false, creates = migrates }: Opening = {},
): Promise<T> {
  const config = readConfig(input.flags)
  const service = await serviceOf(input)
  const log = createLog({ level: 'warn', destination: standardError })
  if (!creates) refuseMissing(config)
  if (!migrates) await refuseForeign(config, service, log)
  // Loaded when needed: --help and config answer without a server in memory.
  const { openApp } = await import('../app.ts')
  const onProgress = input.out.progress
  const app = await openApp({ config, service, log, seed, onProgress, release: packageVersion })
  try {
    return await use(app)
  } finally {
    await app.close()
  }
}

/** Commands that act on the database. */
export const engine = commandsWith(withApp, { options: engineOptions, config: ['databaseUrl'] })

/** Opening makes a file. In the wrong folder, `keys list` would so say that there are no keys. */
function refuseMissing(config: Config): void {
  if (databaseExists(config)) return
  const address = databaseAddress(config.databaseUrl)
  const file = address.kind === 'sqlite' ? resolve(address.file) : databaseShown(config)
  throw new CommandError(
    `There is no database at ${file}. Start the service here first (gatehook start), run this ` +
      'in the folder where it was started, or name its file: --database-url sqlite:FILE',
  )
}

/**
 * Opening migrates. In the wrong folder, `keys list` would so make another service's tables in this
 * database: a command that is not about migrating does not touch one that lacks something.
 */
async function refuseForeign(config: Config, service: Service, log: Log): Promise<void> {
  if (!databaseExists(config)) return
  const db = await openDatabase(config.databaseUrl, { log })
  try {
    const lacking = await lackingIn(db, service)
    if (lacking === undefined) return
    throw new CommandError(
      `The database lacks ${lacking}. If it is of the service declared elsewhere, name that ` +
        'folder: --dir DIR. If it is of this one: gatehook migrate',
    )
  } finally {
    await db.close()
  }
}

/**
 * What a database in use lacks of this program and service; undefined when it is new or complete.
 */
async function lackingIn(db: Database, service: Service): Promise<string | undefined> {
  const engine = await pending(db)
  if (engine.length === migrations.length) return undefined
  const tables = await planService(db, service.definition)
  const all = [...engine.map(({ name }) => `migration ${name}`), ...tables.flatMap(wanting)]
  return all.length === 0 ? undefined : all.join(', ')
}

/** What does not exist, in words instead of a bare 404. */
export async function known<T>(what: string, id: string, act: Promise<T>): Promise<T> {
  try {
    return await act
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'not_found') throw error
    throw new CommandError(`There is no ${what} ${id}.`)
  }
}
