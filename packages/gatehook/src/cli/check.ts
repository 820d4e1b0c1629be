/**
 * `gatehook check`: the definitions against `api.lock.json` (§8.11). What a change means is judged
 * in `gate/`; how it is told is `check-report.ts`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { readConfig } from '../config/environment.ts'
import { reasonOf } from '../config/file-errors.ts'
import { compareWithLock, type Remedy, remedyFor } from '../gate/compatibility.ts'
import {
  type Lock,
  LockError,
  lockOf,
  parseLock,
  serializeLock,
  type VersionPromise,
} from '../gate/lock.ts'
import { type Clock, wallClock } from '../kernel/clock.ts'
import { createLog } from '../kernel/log.ts'
import { openApiDocument } from '../resources/openapi.ts'
import type { Definition } from '../resources/resource.ts'
import type { ServiceDefinition } from '../resources/service.ts'
import { openDatabase } from '../storage/open.ts'
import { listVersionCallers } from '../versions/store.ts'
import { type Checked, reportOf, type VersionCallers } from './check-report.ts'
import { databaseExists } from './checks.ts'
import type { CommandSpec, Input } from './command.ts'
import { findService, loadService } from './load.ts'
import { CommandError, EXIT, UsageError } from './mistake.ts'
import { catalogOf, writeOut } from './openapi.ts'

const LOCK_FILE = 'api.lock.json'

/** What every version of a service promises now, oldest first. */
export function promisesOf(service: ServiceDefinition): Map<string, VersionPromise> {
  const catalog = catalogOf(service)
  return new Map(
    catalog.versions.map((version) => {
      const fields = [...catalog.entries].map(([name, { shapes }]) => [
        name,
        shapes.get(version)!.specs,
      ])
      const document = openApiDocument(catalog, version)
      return [version, { fields: Object.fromEntries(fields), document }]
    }),
  )
}

/** Compares a service with what it promised. Pure. */
export function check(service: ServiceDefinition, lock: Lock): Checked {
  const declared = promisesOf(service)
  const verdicts = compareWithLock(lock, declared)
  const unlocked = [...declared.keys()].filter((name) => !Object.hasOwn(lock.versions, name))
  const broken = verdicts.some(({ breaks }) => breaks.length > 0)
  const mend = broken ? remedyFor(lock, declared) : undefined
  const after = mend ? compareWithLock(lock, promisesOf(mended(service, mend))) : []
  const remaining = after.filter(({ breaks }) => breaks.length > 0)
  return { verdicts, mend, remaining, unlocked }
}

/** The service as it would be with the stubs in it. */
function mended(service: ServiceDefinition, { version, fresh, stubs }: Remedy): ServiceDefinition {
  const resources = service.resources.map((one): Definition => {
    const stub = stubs.find(({ resource }) => resource === one.name)
    if (!stub) return one
    const { had, hadNot, renamed } = stub
    const change = { version, why: '', had, hadNot, renamed, up: () => ({}), down: () => ({}) }
    const above = one.changes.filter((other) => other.version === version).length
    return { ...one, changes: one.changes.toSpliced(above, 0, change) }
  })
  const versions = fresh
    ? [...service.versions, { name: version, released: '9999-12-31' }]
    : service.versions
  return { ...service, versions, resources }
}

const DAY_MS = 86_400_000
const LEDGER_DAYS = 30
const CALLERS_MAX = 10

/** Who calls the versions; undefined where no ledger can be read here. Nothing is written. */
async function usage(
  input: Input,
  versions: readonly string[],
  clock: Clock,
): Promise<VersionCallers[] | undefined> {
  const config = readConfig(input.flags)
  if (!databaseExists(config)) return undefined
  const log = createLog({ level: 'fatal', destination: { write: () => undefined } })
  try {
    const db = await openDatabase(config.databaseUrl, { log })
    try {
      if ((await db.columns('gh_version_usage')).length === 0) return undefined
      const since = clock.now() - LEDGER_DAYS * DAY_MS
      const told: VersionCallers[] = []
      for (const version of versions) {
        told.push({ version, callers: await listVersionCallers(db, version, since, CALLERS_MAX) })
      }
      return told
    } finally {
      await db.close()
    }
  } catch {
    return undefined // the verdict does not hang on a database that is down
  }
}

function lockIn(file: string): Lock | undefined {
  if (!existsSync(file)) return undefined
  try {
    return parseLock(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (error instanceof LockError) throw new CommandError(error.message)
    throw new CommandError(`${file} cannot be read: ${reasonOf(error)}.`)
  }
}

async function run(input: Input): Promise<number> {
  const { args, options, out } = input
  const found = findService(String(args[0] ?? '.'))
  if (!found.declared) {
    const where = args[0] === undefined ? 'here' : `in ${args[0]}`
    throw new UsageError(`There is no service.ts ${where}. Name its folder: gatehook check DIR`)
  }
  const { definition } = await loadService(found)
  const path = join(dirname(found.file), LOCK_FILE)
  const file = relative(process.cwd(), path)
  const lock = lockIn(path)
  const update = options.update === true
  if (lock === undefined && !update) {
    throw new CommandError(
      `${file} is not there: nothing was promised yet. Write it with --update and commit it.`,
    )
  }
  const checked = check(definition, lock ?? { lock: 1, versions: {} })
  const broken = checked.verdicts.filter(({ breaks }) => breaks.length > 0)
  const callers =
    broken.length > 0
      ? await usage(
          input,
          broken.map(({ version }) => version),
          wallClock,
        )
      : undefined
  const write = update && broken.length === 0
  if (write) writeOut(path, serializeLock(lockOf(promisesOf(definition))))
  const today = new Date(wallClock.now()).toISOString().slice(0, 10)
  out.result({ lock: file, ok: broken.length === 0, updated: write, ...checked, callers }, () =>
    reportOf({ ...checked, callers, file, today, update: { asked: update, done: write } }),
  )
  return broken.length === 0 ? EXIT.fine : EXIT.failed
}

export const checkCommand: CommandSpec = {
  name: 'check [DIR]',
  summary: 'whether a change of the service breaks its callers',
  description:
    `Compares the service of DIR (default: this folder) with ${LOCK_FILE} beside it. Additions ` +
    'pass; a break fails with exit 1, in words, with who calls the version and what mends it.',
  options: [['--update', `write ${LOCK_FILE} anew; refused while something breaks`]],
  config: ['databaseUrl'],
  examples: [
    ['gatehook check', 'before a commit, and in CI'],
    ['gatehook check --update', 'additions become promises; commit the file'],
  ],
  run,
}
