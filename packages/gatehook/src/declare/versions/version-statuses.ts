/**
 * The current status of each version, from the declared calendar, the operator's overrides and the
 * clock. A status has everything that responses need, and is computed once per change. A request
 * costs one lookup and one reading of the clock.
 */

import type { Clock } from '../../kernel/clock.ts'
import type { Warning } from '../../protocol/http/call.ts'
import {
  type Brownout,
  brownoutAt,
  type Calendar,
  type CalendarOverrides,
  type CalendarSpan,
  EMPTY_CALENDAR,
  spanAround,
  stateAt,
  type VersionDefinition,
  type VersionState,
} from './calendar.ts'
import type { VersionChange } from './change.ts'
import {
  deprecationHeaders,
  deprecationWarning,
  retirementBody,
  type VersionAnnouncement,
} from './signals.ts'

export interface VersionStatus extends VersionAnnouncement {
  readonly released: string
  readonly state: VersionState
  readonly brownout: Brownout | undefined
  /** Requests get 410: the version is retired, or in a brownout. */
  readonly isGone: boolean
  /** Undefined while the version is supported. */
  readonly headers: Readonly<Record<string, string>> | undefined
  /** Returns the warning for a route template: `/api/things/:id`. */
  readonly warning: (route: string) => Warning
  /** JSON text of the 410; empty unless the version is retired. */
  readonly retirement: string
}

export interface VersionStatuses {
  /** Majors, oldest first. */
  readonly versions: readonly string[]
  statusOf(version: string): VersionStatus | undefined
  /** Returns the oldest version that is not retired; the newest if all are retired (§8.4). */
  oldestServed(): string
  /** Returns the version; if it is retired, its first successor that is not. */
  servedSuccessor(version: string): string
  /** Returns the declared calendar, without overrides. */
  declaredCalendar(version: string): Calendar
  /** Applies a stored calendar. An older revision has no effect. */
  applyOverrides(version: string, overrides: CalendarOverrides, revision: number): void
}

interface VersionStatusDeps {
  readonly clock: Clock
  readonly definitions: readonly VersionDefinition[]
  readonly changes: readonly VersionChange[]
  readonly publicUrl: () => string
}

/** `status` is valid inside the span, for one public URL. */
interface StatusEntry extends CalendarSpan {
  readonly released: string
  readonly declared: Calendar
  calendar: Calendar
  revision: number
  status: VersionStatus
}

export function createVersionStatuses(deps: VersionStatusDeps): VersionStatuses {
  const { clock, definitions, publicUrl } = deps
  const versions = definitions.map(({ name }) => name)
  const entries = new Map<string, StatusEntry>()
  const computeStatus = statusComputation(deps, versions)

  const renewStatus = (version: string, entry: StatusEntry): VersionStatus => {
    Object.assign(entry, spanAround(entry.calendar, clock.now()))
    entry.status = computeStatus(version, entry)
    return entry.status
  }

  const statusOf = (version: string): VersionStatus | undefined => {
    const entry = entries.get(version)
    if (entry === undefined) return undefined
    const now = clock.now()
    const isCurrent = now >= entry.fromMs && now < entry.untilMs
    if (isCurrent && entry.status.base === publicUrl()) return entry.status
    return renewStatus(version, entry)
  }

  for (const { name, released, ...announced } of definitions) {
    const declared: Calendar = { ...EMPTY_CALENDAR, ...announced }
    entries.set(name, {
      released,
      declared,
      calendar: declared,
      revision: 0,
      ...spanAround(declared, clock.now()),
      status: computeStatus(name, { calendar: declared, released }),
    })
  }

  return {
    versions,
    statusOf,
    oldestServed: () =>
      versions.find((version) => statusOf(version)!.state !== 'retired') ?? versions.at(-1)!,
    servedSuccessor(version) {
      let name = version
      for (let hops = 0; hops < versions.length; hops++) {
        const { state, calendar } = statusOf(name) ?? {}
        if (state !== 'retired' || calendar?.successor == null) break
        name = calendar.successor
      }
      return name
    },
    declaredCalendar: (version) => entries.get(version)!.declared,
    applyOverrides(version, overrides, revision) {
      const entry = entries.get(version)
      if (entry === undefined || revision <= entry.revision) return
      entry.revision = revision
      entry.calendar = { ...entry.declared, ...overrides }
      renewStatus(version, entry)
    },
  }
}

/** The collection of a route: `things` of `/api/things/:id`. */
const COLLECTION = /^\/api\/([^/]+)/

function statusComputation(
  { clock, changes, publicUrl }: VersionStatusDeps,
  versions: readonly string[],
) {
  return (
    version: string,
    { calendar, released }: Pick<StatusEntry, 'calendar' | 'released'>,
  ): VersionStatus => {
    const index = versions.indexOf(version)
    const now = clock.now()
    const successor = calendar.successor ?? versions[index + 1] ?? null
    const last = versions.indexOf(successor ?? version)
    const announcement: VersionAnnouncement = {
      version,
      calendar: { ...calendar, successor },
      base: publicUrl(),
      changes: changes.filter((change) => {
        const introduced = versions.indexOf(change.version)
        return introduced > index && introduced <= last
      }),
    }
    const state = stateAt(calendar, now)
    const brownout = brownoutAt(calendar, now)
    // Route templates are few and fixed, so the map is bounded.
    const warnings = new Map<string, Warning>()
    return {
      ...announcement,
      released,
      state,
      brownout,
      isGone: state === 'retired' || brownout !== undefined,
      headers: state === 'supported' ? undefined : deprecationHeaders(announcement),
      warning(route) {
        const cachedWarning = warnings.get(route)
        if (cachedWarning) return cachedWarning
        const warning = deprecationWarning(announcement, COLLECTION.exec(route)?.[1])
        warnings.set(route, warning)
        return warning
      },
      retirement: state === 'retired' ? retirementBody(announcement) : '',
    }
  }
}
