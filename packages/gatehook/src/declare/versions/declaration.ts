/** Parses the declared versions of a service, and reports mistakes to the developer. Pure. */

import { Failure } from '../../kernel/failure.ts'
import { readMembers } from '../../protocol/fields/body.ts'
import {
  type CalendarOverrides,
  calendarMistakes,
  EMPTY_CALENDAR,
  earliestSunset,
  NOTICE_MONTHS,
  type VersionDefinition,
} from './calendar.ts'
import { calendarMembers } from './calendar-body.ts'
import type { VersionChange } from './change.ts'
import type { ChangedRoute } from './changelog.ts'

/** A version and its calendar. Dates are days or instants in ISO 8601. */
export interface VersionOptions {
  /** The day of its release, `YYYY-MM-DD`; also a second name of the version. */
  readonly released: string
  /** From then on, every response of the version announces its end (§8.6). */
  readonly deprecated_at?: string
  /** From then on, requests get 410 (§8.7). At least six calendar months after `deprecated_at`. */
  readonly sunset_at?: string
  /** The version to move to. Default: the next one. */
  readonly successor?: string
  /** URL of the migration guide. Default: the docs of the successor. */
  readonly migration_guide?: string
  /** URL of a page about the sunset. */
  readonly sunset_link?: string
  /** Announced windows in which the version is not served. */
  readonly brownouts?: readonly { readonly start: string; readonly end: string }[]
}

interface ChangedResource {
  readonly name: string
  readonly changes: readonly { readonly version: string; readonly why: string }[]
}

/** Returns the changes by collection; those of a route by the first segment of its path. */
export const listVersionChanges = (
  resources: readonly ChangedResource[],
  routes: readonly ChangedRoute[],
): VersionChange[] =>
  [
    ...resources,
    ...routes.map(({ path, changes }) => ({ name: path.split('/')[1]!, changes })),
  ].flatMap(({ name, changes }) =>
    changes.map(({ version, why }) => ({ resource: name, version, why })),
  )

interface ParsedVersions {
  readonly versions: readonly VersionDefinition[]
  readonly mistakes: readonly string[]
}

/** Parses `service({ versions })`: options by name, oldest first. */
export function parseVersions(options: Readonly<Record<string, VersionOptions>>): ParsedVersions {
  const names = Object.keys(options)
  const mistakes: string[] = names.length === 0 ? ['versions: declare at least v1'] : []
  const versions: VersionDefinition[] = []
  let previousMajor = 0
  for (const [name, { released, ...calendar }] of Object.entries(options)) {
    const major = Number(/^v([1-9]\d{0,3})$/.exec(name)?.[1])
    if (!(major > previousMajor)) {
      mistakes.push(`version ${name}: majors are v1, v2, …, oldest first`)
    }
    previousMajor = major
    if (!isDay(released)) {
      mistakes.push(`version ${name}: released is a day, for example 2026-06-01`)
    }
    const previous = versions.at(-1)
    if (previous && isDay(released) && released < previous.released) {
      mistakes.push(`version ${name}: released is before ${previous.name}, which is older`)
    }
    const twin = versions.find((other) => other.released === released)
    if (twin) {
      mistakes.push(`version ${name}: released is the day of ${twin.name}; a day names one version`)
    }
    const parsed = parseCalendar(name, names, calendar)
    mistakes.push(...parsed.mistakes.map((mistake) => `version ${name}: ${mistake}`))
    versions.push({ name, released, ...parsed.overrides })
  }
  return { versions, mistakes }
}

function isDay(text: string): boolean {
  const instant = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)
}

function parseCalendar(
  version: string,
  versions: readonly string[],
  declared: Omit<VersionOptions, 'released'>,
): { readonly overrides: CalendarOverrides; readonly mistakes: readonly string[] } {
  try {
    const members = Object.entries(readMembers(declared, calendarMembers))
    const overrides = Object.fromEntries(
      members.filter(([, value]) => value !== undefined),
    ) as CalendarOverrides
    return { overrides, mistakes: declaredMistakes(version, versions, overrides) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const mistakes = (error.errors ?? []).map(
      ({ pointer, message }) => `${pointer?.slice(1)} ${message}`,
    )
    return { overrides: {}, mistakes }
  }
}

function declaredMistakes(
  version: string,
  versions: readonly string[],
  overrides: CalendarOverrides,
): string[] {
  const calendar = { ...EMPTY_CALENDAR, ...overrides }
  const { deprecated_at, sunset_at, successor } = calendar
  const mistakes = calendarMistakes(calendar, version).map(
    ({ pointer, message }) => `${pointer.slice(1)} ${message}`,
  )
  if (successor !== null && !versions.includes(successor)) {
    mistakes.push(`successor must be one of ${versions.join(', ')}`)
  }
  if (mistakes.length > 0 || deprecated_at === null || sunset_at === null) return mistakes
  if (sunset_at >= earliestSunset(deprecated_at)) return []
  return [`sunset_at must lie at least ${NOTICE_MONTHS} calendar months after deprecated_at`]
}
