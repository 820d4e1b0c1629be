/**
 * The checks of `gatehook doctor`, one function each. They create no file and apply no migration. A
 * check returns its result; it throws only for unexpected errors.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname } from 'node:path'
import { requireOwnTables } from '../declare/resources/database-owner.ts'
import { describeBuild } from '../declare/resources/index-builds.ts'
import { describePending, planMigration } from '../declare/resources/migrate.ts'
import type { Service } from '../declare/resources/service.ts'
import { pendingMigrations } from '../engine-tables.ts'
import { findNewestTime } from '../history/audit/store.ts'
import type { Clock } from '../kernel/clock.ts'
import { describeFileError } from '../kernel/files.ts'
import { isoTime } from '../kernel/time.ts'
import { type Config, publicUrlOf, withoutPassword } from '../platform/config/config.ts'
import {
  databaseFile,
  dataFolder,
  mailFolder,
  monitoringFile,
  secretFile,
} from '../platform/config/environment.ts'
import type { BindAddress } from '../platform/config/values.ts'
import { findLastFailedJob } from '../platform/jobs/fault-store.ts'
import { MAIL_KINDS } from '../platform/jobs/job.ts'
import { countJobs } from '../platform/jobs/store.ts'
import { CLOCK_SETTING, type StoredClock } from '../platform/storage/clock-setting.ts'
import type { Database } from '../platform/storage/database.ts'
import { isInstalled, readSetting } from '../platform/storage/settings.ts'
import { isGatehook } from './http-client.ts'
import { isNodeSupported, oldestNode } from './own-package.ts'

export interface CheckResult {
  readonly state: 'ok' | 'warn' | 'fail'
  readonly detail: string
  /** The remedy. */
  readonly hint?: string
}

export const ok = (detail: string): CheckResult => ({ state: 'ok', detail })
export const warn = (detail: string, hint: string): CheckResult => ({ state: 'warn', detail, hint })
export const fail = (detail: string, hint: string): CheckResult => ({ state: 'fail', detail, hint })

/** The version of development, tests and benchmarks. */
const RECOMMENDED_NODE = 26

/** Checks the Node version against the minimum and the recommended one. */
export function checkNodeVersion(version: string): CheckResult {
  const hint = `npm install node@${RECOMMENDED_NODE} adds it to this project.`
  if (!isNodeSupported(version)) {
    return fail(`${version}; Gatehook needs ${oldestNode} or newer`, hint)
  }
  if (Number.parseInt(version, 10) >= RECOMMENDED_NODE) return ok(version)
  return warn(`${version} works; Node ${RECOMMENDED_NODE} is recommended`, hint)
}

function existingAncestor(folder: string): string {
  let path = folder
  while (!existsSync(path) && dirname(path) !== path) path = dirname(path)
  return path
}

/** Checks that the data folder can be created and written. */
export function checkDataFolder(config: Config): CheckResult {
  const folder = dataFolder(config)
  if (folder === undefined) return ok('not needed on PostgreSQL')
  const ancestor = existingAncestor(folder)
  const hint = 'Give this user access, or name another folder in GATEHOOK_DATABASE_URL.'
  try {
    if (!statSync(ancestor).isDirectory()) return fail(`${ancestor} is not a folder`, hint)
    accessSync(ancestor, constants.W_OK | constants.X_OK)
    return ok(ancestor === folder ? folder : `${folder} (the first start creates it)`)
  } catch (error) {
    return fail(`${ancestor}: ${describeFileError(error)}`, hint)
  }
}

/** Reports the size of the monitoring file, and a damaged one that the service has renamed. */
export function checkMonitoringFile(config: Config): CheckResult {
  const file = monitoringFile(config)
  if (file === undefined) return ok('in the database, tables gh_monitoring_…')
  const damaged = `${file}.damaged`
  if (existsSync(damaged)) {
    const hint = `The service has a new file. Check the disk, then delete ${damaged}.`
    return warn(`${damaged} is a damaged file; its requests are not listed`, hint)
  }
  const bytes = statSync(file, { throwIfNoEntry: false })?.size
  if (bytes === undefined) return ok('none yet')
  return ok(`${file}, ${Math.ceil(bytes / 1_000_000).toLocaleString('en-US')} MB`)
}

const OTHER_USERS = 0o077

/** Checks that no other user can read `secret.key`, the database and the request log. */
export function checkPrivateFiles(config: Config): CheckResult {
  const secret = secretFile(config)
  const databases = [databaseFile(config), monitoringFile(config)].flatMap((file) =>
    file === undefined ? [] : [file, `${file}-wal`, `${file}-shm`],
  )
  const files = [secret, ...databases].filter((file) => file !== undefined)
  for (const file of files) {
    const mode = (statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o777
    if ((mode & OTHER_USERS) === 0) continue
    return fail(`${file} has mode ${mode.toString(8)}: others can read it`, `chmod 600 ${file}`)
  }
  if (secret === undefined) return ok('from GATEHOOK_SECRET_KEY')
  return ok(existsSync(secret) ? `${secret}, this user only` : 'none yet')
}

export const printableDatabaseUrl = (config: Config): string => withoutPassword(config.databaseUrl)

/** Checks for pending migrations, and for changes that need a reviewed one. */
export async function checkMigrations(
  db: Database,
  service: Service | undefined,
): Promise<CheckResult> {
  if (service) await requireOwnTables(db, service.definition, {})
  const engine = (await pendingMigrations(db)).map(({ number, name }) => `${number} ${name}`)
  const tables = service ? await planMigration(db, service.definition) : []
  const rejectedChanges = tables.flatMap(({ plan }) => plan.rejected)
  if (rejectedChanges.length > 0) {
    return fail(
      rejectedChanges.join('; '),
      'This needs a reviewed migration; a start fails as well.',
    )
  }
  const builds = (await db.indexBuilds()).map(describeBuild)
  const isOfBuild = (change: string) => builds.some((build) => build.startsWith(`${change}:`))
  // Behind a reviewed migration the table is unknown, so that the start may reject the rest.
  const isReviewed = tables.some(({ table, migrations }) => migrations && table !== '')
  const changes = [...engine, ...tables.flatMap(describePending)]
  const pendingChanges = [...changes.filter((change) => !isOfBuild(change)), ...builds]
  return pendingChanges.length === 0
    ? ok('none pending')
    : warn(
        `pending: ${pendingChanges.join(', ')}`,
        builds.length > 0
          ? 'A node creates these indexes beside requests; lists that need them are bounded.'
          : isReviewed
            ? 'gatehook migrate --plan tells whether the next start applies them.'
            : 'The next start applies them, or: gatehook migrate',
      )
}

/** Returns the error of a listener; undefined if each address of the configuration is free. */
export async function portError(config: Config): Promise<NodeJS.ErrnoException | undefined> {
  const { host, port, internal } = config
  const error = await bindError({ host, port })
  if (error || !internal) return error
  const internalError = await bindError(internal)
  return internalError && Object.assign(internalError, { setting: 'GATEHOOK_INTERNAL' })
}

const bindError = (address: BindAddress): Promise<NodeJS.ErrnoException | undefined> =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', resolve)
    probe.listen(address, () => probe.close(() => resolve(undefined)))
  })

/** Checks that the service can listen on its port. */
export async function checkPort(config: Config): Promise<CheckResult> {
  const { host, port: number } = config
  const error = await portError(config)
  if (!error) return ok(number === 0 ? 'any free one' : `${number} is free`)
  if (error.code !== 'EADDRINUSE') {
    const remedy = 'Choose another GATEHOOK_HOST or GATEHOOK_PORT.'
    return fail(`${host} port ${number}: ${error.code}`, remedy)
  }
  const { address = host, port = number } = error as { address?: string; port?: number }
  const url = publicUrlOf({ ...config, host: address, publicUrl: null }, port)
  if (await isGatehook(url)) return ok(`${port} is in use by Gatehook`)
  return warn(`${port} is in use, and no Gatehook answers there`, 'Use another: --port 0')
}

/** The program did not exist before this instant: an earlier clock is wrong. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)
const TOLERANCE_MS = 60_000
/** Mail and jobs beyond it are not counted. */
const COUNT_MAX = 10_000

/** Compares the machine's clock with the newest audit row. A test clock may be ahead of it. */
export async function checkClock(
  machineClock: Clock,
  config: Config,
  db: Database | undefined,
): Promise<CheckResult> {
  const now = machineClock.now()
  const hint = 'Set the clock of this machine (NTP): keys, tokens and versions expire by it.'
  if (now < EARLIEST_MS) return fail(`it is ${isoTime(now)}`, hint)
  const installed = db && (await isInstalled(db)) ? db : undefined
  const setting = installed && (await readSetting<StoredClock>(installed, CLOCK_SETTING))
  if (setting) {
    const serviceNow = setting.frozenAtMs ?? now + setting.offsetMs
    const detail = `it is ${isoTime(now)}, and ${isoTime(serviceNow)} on the test clock`
    if (config.testClock) return ok(detail)
    const remedy =
      'Set GATEHOOK_TEST_CLOCK=1 here too, or use another database: its rows have times of the ' +
      'test clock.'
    return warn(detail, remedy)
  }
  if (config.testClock) return ok(`${isoTime(now)}; GATEHOOK_TEST_CLOCK is on`)
  const lastAt = installed ? await findNewestTime(installed) : 0
  if (lastAt > now + TOLERANCE_MS) {
    return warn(`it is ${isoTime(now)}, the last audit row is of ${isoTime(lastAt)}`, hint)
  }
  return ok(isoTime(now))
}

/** Reports the transport of mail, and mail that waits or failed. */
export async function checkMail(
  config: Config,
  service: Service | undefined,
  db: Database | undefined,
): Promise<CheckResult> {
  const transport = service?.definition.mail?.transport
  const place = transport ? 'the transport of the service' : `files in ${mailFolder(config)}`
  if (!db || !(await isInstalled(db))) return ok(place)
  let [waiting, failed] = [0, 0]
  let error: string | null | undefined
  for (const lane of MAIL_KINDS) {
    waiting += await countJobs(db, { lane, state: 'waiting' }, COUNT_MAX)
    failed += await countJobs(db, { lane, state: 'failed' }, COUNT_MAX)
    error ??= (await findLastFailedJob(db, lane))?.error
  }
  if (failed === 0) return ok(waiting === 0 ? place : `${place}; ${waiting} waiting`)
  const hint =
    'Correct the transport. The mail is deleted after 7 days; its senders may repeat it. ' +
    'An alert on gatehook_job_attempts_total{kind=~"mail|stranger_mail",outcome="failed"} ' +
    'reports the next one.'
  return warn(`${place}; ${waiting} waiting, ${failed} failed: ${error}`, hint)
}

/** Reports jobs that had all of their attempts, and the error of the last one. */
export async function checkJobs(db: Database): Promise<CheckResult | undefined> {
  if (!(await isInstalled(db))) return undefined
  const job = await findLastFailedJob(db, 'service')
  if (!job) return ok('none failed')
  const count = await countJobs(db, { lane: 'service', state: 'failed' }, COUNT_MAX)
  return warn(
    `${count} failed; the last is ${job.name}: ${job.error ?? 'it has no error'}`,
    'Remove the cause, then gatehook jobs retry ID; gatehook jobs list --state failed has the ids.',
  )
}
