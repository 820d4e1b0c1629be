/**
 * What `gatehook doctor` looks at, one check each. Nothing is changed: no file is made and no
 * migration applied. Each answers with a finding; none throws for what it looks for.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { checkMasterSecret } from '../assembly/secrets.ts'
import { type Config, databaseAddress, withoutPassword } from '../config/config.ts'
import { dataFolder, secretFile } from '../config/environment.ts'
import { reasonOf } from '../config/file-errors.ts'
import type { Clock } from '../kernel/clock.ts'
import { isoTime } from '../kernel/time.ts'
import { planService, wanting } from '../resources/migrate.ts'
import type { Service } from '../resources/service.ts'
import type { Database } from '../storage/database.ts'
import { pending } from '../storage/migrate.ts'
import { sql } from '../storage/sql.ts'

export interface Finding {
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** What to do about it. */
  readonly hint?: string
}

const ok = (detail: string): Finding => ({ state: 'ok', detail })
const warn = (detail: string, hint: string): Finding => ({ state: 'warn', detail, hint })
export const fail = (detail: string, hint: string): Finding => ({ state: 'fail', detail, hint })

/** `engines` of the package: crypto.argon2 came with it. */
const LEAST_NODE = [24, 7] as const
/** The version the project is developed, tested and measured with. */
const RECOMMENDED_NODE = 26

/** Whether this Node runs Gatehook, and whether it is the one to run it with. */
export function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [leastMajor, leastMinor] = LEAST_NODE
  const hint = `npm install node@${RECOMMENDED_NODE} adds it to this project.`
  if (major < leastMajor || (major === leastMajor && minor < leastMinor)) {
    return fail(`${version}; Gatehook needs ${LEAST_NODE.join('.')} or newer`, hint)
  }
  if (major >= RECOMMENDED_NODE) return ok(version)
  return warn(`${version} works; Node ${RECOMMENDED_NODE} is recommended`, hint)
}

/** The nearest folder of the path that exists: there the rest will be made. */
function nearest(folder: string): string {
  let path = folder
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path)
  return path
}

export function dataWritable(config: Config): Finding {
  const folder = dataFolder(config)
  if (folder === undefined) return ok('not needed on PostgreSQL')
  const place = nearest(folder)
  const hint = 'Give this user the folder, or name another one in GATEHOOK_DATABASE_URL.'
  try {
    if (!statSync(place).isDirectory()) return fail(`${place} is not a folder`, hint)
    accessSync(place, constants.W_OK | constants.X_OK)
    return ok(place === folder ? folder : `${folder} (the first start makes it)`)
  } catch (error) {
    return fail(`${place}: ${reasonOf(error)}`, hint)
  }
}

const OTHERS = 0o077

export function secretMode(config: Config): Finding {
  const file = secretFile(config)
  if (file === undefined) return ok('from GATEHOOK_SECRET_KEY')
  if (!existsSync(file)) return ok('there is none yet')
  const mode = statSync(file).mode & 0o777
  return (mode & OTHERS) === 0
    ? ok(`${file}, this user only`)
    : fail(`${file} has mode ${mode.toString(8)}: others can read it`, `chmod 600 ${file}`)
}

/** Whether there is a database to look into; SQLite would make an empty one when asked. */
export function databaseExists(config: Config): boolean {
  const address = databaseAddress(config.databaseUrl)
  return address.kind === 'postgres' || existsSync(address.file)
}

/** Whether the master secret is the one that encrypts this database; creates none. */
export async function secretFits(config: Config, db: Database): Promise<Finding> {
  await checkMasterSecret(db, config)
  return ok('fits the database')
}

export const databaseShown = (config: Config): string => withoutPassword(config.databaseUrl)

export async function migrationsDone(db: Database, service: Service | undefined): Promise<Finding> {
  const engine = (await pending(db)).map((one) => `${one.number} ${one.name}`)
  const tables = service ? await planService(db, service.definition) : []
  const refused = tables.flatMap(({ plan }) => plan.refused)
  if (refused.length > 0) {
    return fail(refused.join('; '), 'This needs a reviewed migration; a start refuses it as well.')
  }
  const waiting = [...engine, ...tables.flatMap(wanting)]
  return waiting.length === 0
    ? ok('none pending')
    : warn(`pending: ${waiting.join(', ')}`, 'The next start applies them, or: gatehook migrate')
}

/** Listens for a moment; the error of `listen` when it cannot. */
export function portError({ host, port }: Config): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen({ host, port }, () => probe.close(() => resolve(undefined)))
  })
}

export async function portFree(config: Config): Promise<Finding> {
  const { host, port } = config
  const error = await portError(config)
  if (!error) return ok(port === 0 ? 'any free one' : `${port} is free`)
  return error.code === 'EADDRINUSE'
    ? warn(`${port} is in use`, 'Fine if that is Gatehook; else choose another: --port 0')
    : fail(`${host} port ${port}: ${error.code}`, 'Choose another GATEHOOK_HOST or GATEHOOK_PORT.')
}

/** No machine that runs this lives before it was written. */
const WRITTEN_MS = Date.UTC(2026, 0, 1)
const TOLERANCE_MS = 60_000

/** The machine's clock against what is stored; a test clock may well stand ahead of it. */
export async function clockSane(
  clock: Clock,
  config: Config,
  db: Database | undefined,
): Promise<Finding> {
  const now = clock.now()
  const hint = 'Set the clock of this machine (NTP); keys, tokens and versions expire by it.'
  if (now < WRITTEN_MS) return fail(`it says ${isoTime(now)}`, hint)
  if (config.testClock) return ok(`${isoTime(now)}; GATEHOOK_TEST_CLOCK is on`)
  const stored = db && (await db.columns('gh_audit')).length > 0
  const last = stored
    ? await db.get(sql`SELECT at FROM gh_audit ORDER BY position DESC LIMIT 1`)
    : undefined
  if (last && last.at > now + TOLERANCE_MS) {
    return warn(`it says ${isoTime(now)}, the last act is of ${isoTime(last.at)}`, hint)
  }
  return ok(isoTime(now))
}
