/**
 * Compares a declaration with the lock: breaks and additions of each version, and the `.before()`
 * of renamed fields. Pure; the command `gatehook check` prints the result.
 */
import type { DatabaseName } from '../../platform/storage/expressions.ts'
import type { ResourceDefinition } from '../resources/resource.ts'
import { indexesOf, storedColumns, storedIndex } from '../resources/table.ts'
import { diffDocuments } from './document-diff.ts'
import { compareEvents } from './event-diff.ts'
import { breakFinding, type OperationFinding, type PartChange } from './finding.ts'
import { concernOf, GUIDES } from './guide.ts'
import { type Lock, lockOf, type VersionPromise } from './lock.ts'
import { type RenameMigrations, renameMigrations } from './online-rename.ts'
import { type RenameStub, renameStub } from './rename-stub.ts'
import { diffRules } from './rule-diff.ts'

export interface VersionCompatibility {
  readonly version: string
  readonly breaks: readonly OperationFinding[]
  readonly additions: readonly OperationFinding[]
}

/** Compares each version of the lock. `declared` has the versions by name, oldest first. */
export function compareWithLock(
  lock: Lock,
  declared: ReadonlyMap<string, VersionPromise>,
): VersionCompatibility[] {
  const now = lockOf(declared).versions
  return Object.entries(lock.versions).map(([version, promise]) => {
    const current = now[version]
    const findings = current
      ? [...diffPromises(version, promise, current), ...narrowingFindings(promise, current)]
      : [undeclaredFinding(version)]
    return {
      version,
      breaks: findings
        .filter(({ breaking }) => breaking)
        .map((finding) => ({ ...finding, guide: GUIDES[concernOf(finding.where)] })),
      additions: findings.filter(({ breaking }) => !breaking),
    }
  })
}

function diffPromises(
  version: string,
  promised: VersionPromise,
  current: VersionPromise,
): OperationFinding[] {
  const events = compareEvents(promised, current)
  return [
    ...diffDocuments(events.withoutRemovedTypes(promised.document), current.document),
    ...diffRules(promised, current, events.isReported),
    ...vendorFindings(version, promised.vendor, current.vendor),
    ...events.findings,
  ]
}

const wholeFinding = (sentence: string, parts: PartChange): OperationFinding => ({
  ...breakFinding('#', sentence, parts),
  sentence,
  operations: [],
})

const vendorFindings = (version: string, promised: string, current: string): OperationFinding[] => {
  const typeOf = (vendor: string) => `application/vnd.${vendor}.api.${version}+json`
  const sentence =
    `${typeOf(promised)} is no longer a media type: requests that send or accept it are ` +
    'rejected.'
  return promised === current ? [] : [wholeFinding(sentence, [typeOf(promised), typeOf(current)])]
}

/** Reports values that the document still accepts and a new conversion rejects. */
const narrowingFindings = (
  { narrowings: promised = [] }: VersionPromise,
  { narrowings: current = [] }: VersionPromise,
): OperationFinding[] =>
  current
    .filter((sentence) => !promised.includes(sentence))
    .map((sentence) =>
      wholeFinding(
        `${sentence}: callers that send it are rejected. Widen that field, or shorten the value ` +
          'in up().',
        ['the value is accepted', 'the value is rejected'],
      ),
    )

const undeclaredFinding = (version: string): OperationFinding =>
  wholeFinding(
    `${version} is no longer declared, so its callers get 404. Keep it declared with a ` +
      'sunset_at in the past: its callers then get 410 with the successor.',
    [version, undefined],
  )

/** The additions to a declaration that restore compatibility. */
export interface Remedy {
  /** The version that introduces the change. */
  readonly version: string
  /** True if the service must declare that version first. */
  readonly fresh: boolean
  /** The newest promised version. The stubs restore its shape. */
  readonly base: string
  /** Empty if no field is certainly renamed. */
  readonly stubs: readonly RenameStub[]
  /** The migrations of the tables with renamed columns. */
  readonly migrations: readonly RenameMigrations[]
}

/** `next`: the number of the next migration of the service. */
export function remedyFor(
  lock: Lock,
  declared: ReadonlyMap<string, VersionPromise>,
  resources: readonly ResourceDefinition[],
  next: number,
): Remedy | undefined {
  const base = Object.keys(lock.versions).findLast((version) => declared.has(version))
  const newest = [...declared.keys()].at(-1)
  if (base === undefined || newest === undefined) return undefined
  const fresh = Object.hasOwn(lock.versions, newest)
  const version = fresh ? `v${Number(newest.slice(1)) + 1}` : newest
  const current = declared.get(base)!.fields
  const stubs = Object.entries(lock.versions[base]!.fields).flatMap(
    ([resource, fields]) =>
      renameStub(resource, version, fields, current[resource] ?? fields) ?? [],
  )
  const renames = stubs.flatMap(({ resource, columns }) => {
    const definition = resources.find(({ name }) => name === resource)!
    const names = new Set(storedColumns(definition.fields).map(([name]) => name))
    const renamed = columns.filter(({ now }) => names.has(now))
    const stored = (database: DatabaseName) =>
      indexesOf(definition).map((index) => storedIndex(index, definition, database))
    const indexes = { sqlite: stored('sqlite'), postgres: stored('postgres') }
    const rename = { table: resource, columns: renamed, indexes }
    return renamed.length > 0 ? [rename] : []
  })
  return { version, fresh, base, stubs, migrations: renameMigrations(renames, next) }
}
