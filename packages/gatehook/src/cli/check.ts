/**
 * `gatehook check`: compares the declaration with `api.lock.json` (§8.11). `declare/gate/`
 * classifies the differences; `check-report.ts` words them.
 */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { compareWithLock, type Remedy, remedyFor } from '../declare/gate/compatibility.ts'
import {
  type AcceptedBreak,
  type Lock,
  LockError,
  lockOf,
  parseLock,
  serializeLock,
  type VersionPromise,
} from '../declare/gate/lock.ts'
import { withApi } from '../declare/resources/api-resources.ts'
import { findNarrowings } from '../declare/resources/change-check.ts'
import { EXTERNAL_EVENT_SCOPE } from '../declare/resources/event-types.ts'
import {
  describeUncomparedRules,
  promisedRoute,
  promisedRules,
} from '../declare/resources/promised-rules.ts'
import type { ResourceDefinition } from '../declare/resources/resource.ts'
import { defaultPersonScopes, findScopeWarnings } from '../declare/resources/scopes.ts'
import type { ServiceDefinition } from '../declare/resources/service.ts'
import { signUpPaths } from '../declare/resources/sign-up-forms.ts'
import { listVersionCallers } from '../declare/versions/store.ts'
import { openApiOf } from '../documents.ts'
import { type Clock, wallClock } from '../kernel/clock.ts'
import { describeFileError } from '../kernel/files.ts'
import { createLog } from '../kernel/log.ts'
import { databaseTarget } from '../platform/config/config.ts'
import { databaseExists } from '../platform/config/environment.ts'
import { openDatabase } from '../platform/storage/open.ts'
import { isInstalled } from '../platform/storage/settings.ts'
import { findDerivedMistakes } from './check-derived.ts'
import { type Checked, type Rewrite, reportOf, type VersionCallers } from './check-report.ts'
import { type CommandSpec, configOf, type Input } from './command.ts'
import { CommandError, EXIT, UsageError } from './errors.ts'
import { catalogOf, writeFile } from './openapi.ts'
import { findService, loadService } from './service-file.ts'
import { readSqlReport } from './service-sources.ts'

const LOCK_FILE = 'api.lock.json'

/** Returns the current promises of each version, oldest version first. */
export function promisesOf(service: ServiceDefinition): Map<string, VersionPromise> {
  const versions = service.versions.map(({ name }) => name)
  const changed = service.resources.filter(({ changes }) => changes.length > 0)
  if (changed.length === 0) return documentsOf(service)
  return new Map(
    [...documentsOf(service)].map(([version, promise]) => {
      const narrowings = changed.flatMap((resource) => findNarrowings(resource, versions, version))
      return [version, { ...promise, narrowings }]
    }),
  )
}

function documentsOf(service: ServiceDefinition): Map<string, VersionPromise> {
  const catalog = catalogOf(service)
  const { vendor } = service
  const personScopes = defaultPersonScopes(service)
  const objects = [...service.events.filter(({ resource }) => !resource), ...service.externalEvents]
  const scopesByEvent = objects.map(({ type, scope = EXTERNAL_EVENT_SCOPE }) => [type, scope])
  const events = scopesByEvent.length > 0 && { externalEvents: Object.fromEntries(scopesByEvent) }
  return new Map(
    catalog.versions.map((version) => {
      const fields = [...catalog.apiEntries].map(([name, { shapes }]) => [
        name,
        shapes.get(version)!.specs,
      ])
      const rules = [...catalog.apiEntries].map(([name, { definition, shapes }]) => [
        name,
        promisedRules(definition, shapes.get(version)!, personScopes),
      ])
      const { paths, ...parts } = openApiOf(version, catalog)
      const document = { ...parts, paths: { ...paths, ...signUpPaths(catalog, version) } }
      const ofRoutes = service.routes.map(promisedRoute)
      const promise = {
        fields: Object.fromEntries(fields),
        rules: Object.fromEntries([...rules, ...ofRoutes]),
      }
      return [version, { ...promise, document, vendor, ...events }]
    }),
  )
}

/** Compares a service with its lock file. Pure. */
export function check(service: ServiceDefinition, lock: Lock): Checked {
  const declaredPromises = promisesOf(service)
  const verdicts = compareWithLock(lock, declaredPromises)
  const unlocked = [...declaredPromises.keys()].filter(
    (name) => !Object.hasOwn(lock.versions, name),
  )
  const isBroken = verdicts.some(({ breaks }) => breaks.length > 0)
  const nextMigration = 1 + Math.max(0, ...service.migrations.map(({ number }) => number))
  const mend = isBroken
    ? remedyFor(lock, declaredPromises, service.resources, nextMigration)
    : undefined
  const after = mend ? compareWithLock(lock, promisesWith(service, mend, declaredPromises)) : []
  const remaining = after.filter(({ breaks }) => breaks.length > 0)
  const routes = service.routes.map(
    ({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
  )
  const uncompared = withApi(service.resources).flatMap(
    (resource) => describeUncomparedRules(resource) ?? [],
  )
  const warnings = findScopeWarnings(service)
  return { verdicts, mend, remaining, unlocked, routes, uncompared, warnings }
}

/** Returns the promises with the suggested `.before()` stubs, whose conversions do not run. */
const promisesWith = (
  service: ServiceDefinition,
  mend: Remedy,
  declared: ReadonlyMap<string, VersionPromise>,
): Map<string, VersionPromise> =>
  new Map(
    [...documentsOf(withStubs(service, mend))].map(([version, promise]) => {
      const narrowings = declared.get(version)?.narrowings
      return [version, { ...promise, ...(narrowings && { narrowings }) }]
    }),
  )

/** Returns the service with the suggested `.before()` stubs applied. */
function withStubs(
  service: ServiceDefinition,
  { version, fresh, stubs }: Remedy,
): ServiceDefinition {
  const resources = service.resources.map((definition): ResourceDefinition => {
    const stub = stubs.find(({ resource }) => resource === definition.name)
    if (!stub) return definition
    const { had, hadNot, renamed } = stub
    const change = { version, why: '', had, hadNot, renamed, up: () => ({}), down: () => ({}) }
    const above = definition.changes.filter((other) => other.version === version).length
    const changes = definition.changes.toSpliced(above, 0, change)
    return { ...definition, changes }
  })
  const versions = fresh
    ? [...service.versions, { name: version, released: '9999-12-31' }]
    : service.versions
  return { ...service, versions, resources }
}

const DAY_MS = 86_400_000
const USAGE_DAYS = 30
const CALLERS_MAX = 10

/** Characters of the reason of an accepted break. */
const REASON_MIN = 10
const REASON_MAX = 500

/** Returns the callers of the versions; undefined without a readable database. Writes nothing. */
async function readCallers(
  input: Input,
  versions: readonly string[],
  clock: Clock,
): Promise<VersionCallers[] | undefined> {
  const config = configOf(input)
  if (!databaseExists(config)) return undefined
  const log = createLog({ level: 'fatal', destination: { write: () => undefined } })
  try {
    const db = await openDatabase(databaseTarget(config), { log })
    try {
      if (!(await isInstalled(db))) return undefined
      const since = clock.now() - USAGE_DAYS * DAY_MS
      const callers: VersionCallers[] = []
      for (const version of versions) {
        callers.push({
          version,
          callers: await listVersionCallers(db, version, since, CALLERS_MAX),
        })
      }
      return callers
    } finally {
      await db.close()
    }
  } catch {
    return undefined // the result of the check does not depend on the database
  }
}

function lockIn(file: string): Lock | undefined {
  if (!existsSync(file)) return undefined
  try {
    return parseLock(readFileSync(file, 'utf8'), file)
  } catch (error) {
    if (error instanceof LockError) throw new CommandError(error.message)
    throw new CommandError(`${file} cannot be read: ${describeFileError(error)}.`)
  }
}

async function run(input: Input): Promise<number> {
  const { args, options, out } = input
  const serviceFile = findService(input.folder)
  if (!serviceFile.isDeclared) {
    const place = args[0] === undefined ? 'here' : `in ${args[0]}`
    throw new UsageError(`There is no service.ts ${place}. Name its folder: gatehook check DIR`)
  }
  const { definition } = await loadService(serviceFile)
  const path = join(dirname(serviceFile.path), LOCK_FILE)
  const file = relative(process.cwd(), path)
  const lock = lockIn(path)
  const reason = reasonOf(options.accept)
  const update = options.update === true
  if (lock === undefined && !update) {
    throw new CommandError(
      `There is no ${file}: no version is promised yet. Write it with --update and commit it.`,
    )
  }
  const checked = check(definition, lock ?? { lock: 1, versions: {} })
  const brokenVersions = checked.verdicts.filter(({ breaks }) => breaks.length > 0)
  const isBroken = brokenVersions.length > 0
  if (reason !== undefined && !isBroken) {
    throw new CommandError('No change breaks a caller: there is nothing to accept. Use --update.')
  }
  const versions = brokenVersions.map(({ version }) => version)
  const callers = isBroken ? await readCallers(input, versions, wallClock) : undefined
  const today = new Date(wallClock.now()).toISOString().slice(0, 10)
  const rewrite = rewriteOf({ update, reason, isBroken })
  if (rewrite === 'updated' || rewrite === 'accepted') {
    const accepted = [...(lock?.accepted ?? [])]
    if (reason !== undefined) accepted.push(acceptedBreak(brokenVersions, reason, today))
    writeFile(path, serializeLock(lockOf(promisesOf(definition), accepted)))
  }
  const statements = readSqlReport(serviceFile.path)
  const mistakes = [...statements.mistakes, ...(await findDerivedMistakes(definition))]
  const sql = { ...statements, mistakes }
  const ok = (!isBroken || rewrite === 'accepted') && mistakes.length === 0
  const updated = rewrite === 'updated' || rewrite === 'accepted'
  const result = { lock: file, ok, updated, accepted: reason ?? null, ...checked, callers }
  out.result({ ...result, sql }, () => reportOf({ ...checked, callers, file, today, rewrite, sql }))
  return ok ? EXIT.ok : EXIT.failed
}

function reasonOf(accept: unknown): string | undefined {
  if (accept === undefined) return undefined
  const reason = String(accept).trim()
  if (reason.length >= REASON_MIN && reason.length <= REASON_MAX) return reason
  throw new UsageError(
    `--accept needs the reason in ${REASON_MIN} to ${REASON_MAX} characters: reviewers read it.`,
  )
}

function rewriteOf(options: {
  update: boolean
  reason: string | undefined
  isBroken: boolean
}): Rewrite {
  if (options.reason !== undefined) return 'accepted'
  if (!options.update) return 'not requested'
  return options.isBroken ? 'refused' : 'updated'
}

const acceptedBreak = (
  brokenVersions: Checked['verdicts'],
  reason: string,
  date: string,
): AcceptedBreak => ({
  date,
  reason,
  breaks: Object.fromEntries(
    brokenVersions.map(({ version, breaks }) => [
      version,
      [...new Set(breaks.map(({ sentence }) => sentence))],
    ]),
  ),
})

export const checkCommand: CommandSpec = {
  name: 'check [DIR]',
  summary: 'whether a change of the service breaks its callers',
  description:
    `Compares the service of DIR (default: this folder) with ${LOCK_FILE} beside it. Additions ` +
    'pass; a break fails with exit 1 and names the callers of the version and the remedy. ' +
    '--accept records a break that a review has approved; all other promises stay.',
  options: [
    ['--update', `rewrite ${LOCK_FILE}; fails while a change breaks callers`],
    ['--accept <REASON>', `rewrite ${LOCK_FILE}, and record the breaks and the reason in it`],
  ],
  config: ['databaseUrl'],
  examples: [
    ['gatehook check', 'before a commit, and in CI'],
    ['gatehook check --update', 'additions become promises; commit the file'],
    ["gatehook check --accept 'v2 has no callers yet'", 'a reviewed break; commit the file'],
  ],
  run,
}
