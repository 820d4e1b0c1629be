/**
 * Compares a declaration with the lock: breaks and additions of each version, and the `.before()`
 * stubs that keep the promise. Pure; the command `gatehook check` prints the result.
 */
import { type BeforeStub, beforeStub } from './before-stub.ts'
import { diffDocuments } from './document-diff.ts'
import { compareEvents } from './event-diff.ts'
import { findSplit, listedFields } from './field-split.ts'
import type { OperationFinding } from './finding.ts'
import { type Lock, lockOf, type VersionPromise } from './lock.ts'
import { type OnlineRename, onlineRenames } from './online-rename.ts'
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
  const newest = [...declared.keys()].at(-1)
  const isUnrecorded = newest !== undefined && Object.hasOwn(lock.versions, newest)
  return Object.entries(lock.versions).map(([version, promise]) => {
    const { narrowings } = promise
    const current = now[version]
    // A lock without narrowings was written before the gate looked for them.
    const recorded = narrowings ?? (isUnrecorded ? current?.narrowings : [])
    const findings = current
      ? [...diffPromises(version, promise, current), ...narrowingFindings(current, recorded)]
      : [undeclaredFinding(version)]
    return {
      version,
      breaks: findings.filter(({ breaking }) => breaking),
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

const vendorFindings = (
  version: string,
  promised: string | undefined,
  current: string | undefined,
): OperationFinding[] =>
  promised === undefined || promised === current
    ? []
    : [
        {
          breaking: true,
          where: '#',
          sentence:
            `application/vnd.${promised}.api.${version}+json is no longer a media type: requests ` +
            'that send or accept it are rejected.',
          operations: [],
        },
      ]

/** Reports values that the document still accepts and a new conversion rejects. */
const narrowingFindings = (
  { narrowings = [] }: VersionPromise,
  recorded: readonly string[] = [],
): OperationFinding[] =>
  narrowings
    .filter((sentence) => !recorded.includes(sentence))
    .map((sentence) => ({
      breaking: true,
      where: '#',
      sentence:
        `${sentence}: callers that send it are rejected. Widen that field, or shorten the value ` +
        'in up().',
      operations: [],
    }))

const undeclaredFinding = (version: string): OperationFinding => ({
  breaking: true,
  where: '#',
  sentence:
    `${version} is no longer declared, so its callers get 404. Keep it declared with a ` +
    'sunset_at in the past: its callers then get 410 with the successor.',
  operations: [],
})

/** The additions to a declaration that restore compatibility. */
export interface Remedy {
  /** The version that introduces the change. */
  readonly version: string
  /** True if the service must declare that version first. */
  readonly fresh: boolean
  /** The newest promised version. The stubs restore its shape. */
  readonly base: string
  /** Empty if no `.before()` helps. */
  readonly stubs: readonly BeforeStub[]
  /** The number of the next migration of the service. */
  readonly migration: number
  /** The migrations of renamed columns while nodes of the previous release run. */
  readonly online: readonly OnlineRename[]
}

/** `migration`: the number of the next migration of the service. */
export function remedyFor(
  lock: Lock,
  declared: ReadonlyMap<string, VersionPromise>,
  migration: number,
): Remedy | undefined {
  const base = Object.keys(lock.versions).findLast((version) => declared.has(version))
  const newest = [...declared.keys()].at(-1)
  if (base === undefined || newest === undefined) return undefined
  const fresh = Object.hasOwn(lock.versions, newest)
  const version = fresh ? `v${Number(newest.slice(1)) + 1}` : newest
  const current = declared.get(base)!.fields
  const { fields: promised, document } = lock.versions[base]!
  const stubs = Object.entries(promised).flatMap(([resource, fields]) => {
    const now = current[resource] ?? fields
    const split = findSplit(fields, now, listedFields(document, resource), base)
    return beforeStub(resource, version, fields, now, split) ?? []
  })
  const renamedColumns = stubs.flatMap(({ columns = [] }) => columns)
  const online = onlineRenames(renamedColumns, migration)
  return { version, fresh, base, stubs, migration, online }
}
