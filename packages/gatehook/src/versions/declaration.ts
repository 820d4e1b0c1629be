/**
 * The versions of a service as it declares them, read into instants, and what is wrong with them
 * in sentences for the developer. Pure.
 */
import { Failure } from '../kernel/failure.ts'
import { readMembers } from '../kernel/members.ts'
import { calendarMembers } from './announcement.ts'
import {
  contradictions,
  earliestSunset,
  NOTHING_ANNOUNCED,
  NOTICE_MONTHS,
  type Overrides,
  type VersionDefinition,
} from './calendar.ts'
import type { VersionChange } from './change.ts'

/** A version and, where its end is known already, its calendar. Days, or instants in ISO 8601. */
export interface VersionOptions {
  /** The day it was released, `YYYY-MM-DD`; also another name of the version (decisions §1). */
  readonly released: string
  /** From then on every answer of the version says that it ends (§8.6). */
  readonly deprecated_at?: string
  /** From then on it is gone: 410 (§8.7). At least six calendar months after `deprecated_at`. */
  readonly sunset_at?: string
  /** The version to move to; default the next one. */
  readonly successor?: string
  /** URL of the migration guide; default the docs of the successor. */
  readonly migration_guide?: string
  /** URL of a page about the sunset. */
  readonly sunset_link?: string
  /** Announced windows in which the version is not served. */
  readonly brownouts?: readonly { readonly start: string; readonly end: string }[]
}

/** What a resource says of its breaking changes. */
interface Changing {
  readonly name: string
  readonly changes: readonly { readonly version: string; readonly why: string }[]
}

/** Every breaking change, resource by resource. */
export const changesOf = (resources: readonly Changing[]): VersionChange[] =>
  resources.flatMap(({ name, changes }) =>
    changes.map(({ version, why }) => ({ resource: name, version, why })),
  )

export interface ReadVersions {
  readonly versions: readonly VersionDefinition[]
  readonly mistakes: readonly string[]
}

/** `options`: by name, oldest first. */
export function readVersions(options: Readonly<Record<string, VersionOptions>>): ReadVersions {
  const names = Object.keys(options)
  const wrong: string[] = names.length === 0 ? ['versions: declare at least v1'] : []
  const versions: VersionDefinition[] = []
  let last = 0
  for (const [name, { released, ...calendar }] of Object.entries(options)) {
    const major = Number(/^v([1-9]\d{0,3})$/.exec(name)?.[1])
    if (!(major > last)) wrong.push(`version ${name}: majors are v1, v2, …, oldest first`)
    last = major
    if (!/^\d{4}-\d{2}-\d{2}$/.test(released)) {
      wrong.push(`version ${name}: released is a day, for example 2026-06-01`)
    }
    const twin = versions.find((other) => other.released === released)
    if (twin) wrong.push(`version ${name}: ${released} names ${twin.name} already`)
    const read = readCalendar(name, names, calendar)
    wrong.push(...read.mistakes.map((what) => `version ${name}: ${what}`))
    versions.push({ name, released, ...read.overrides })
  }
  return { versions, mistakes: wrong }
}

function readCalendar(
  version: string,
  versions: readonly string[],
  declared: Omit<VersionOptions, 'released'>,
): { readonly overrides: Overrides; readonly mistakes: readonly string[] } {
  try {
    const read = readMembers(declared, calendarMembers)
    const said = Object.entries(read).filter(([, value]) => value !== undefined)
    const overrides = Object.fromEntries(said) as Overrides
    return { overrides, mistakes: calendarMistakes(version, versions, overrides) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const mistakes = (error.errors ?? []).map(
      ({ pointer, message }) => `${pointer?.slice(1)} ${message}`,
    )
    return { overrides: {}, mistakes }
  }
}

function calendarMistakes(
  version: string,
  versions: readonly string[],
  overrides: Overrides,
): string[] {
  const calendar = { ...NOTHING_ANNOUNCED, ...overrides }
  const { deprecated_at, sunset_at, successor } = calendar
  const wrong = contradictions(calendar, version).map(
    ({ pointer, message }) => `${pointer.slice(1)} ${message}`,
  )
  if (successor !== null && !versions.includes(successor)) {
    wrong.push(`successor must be one of ${versions.join(', ')}`)
  }
  if (wrong.length > 0 || deprecated_at === null || sunset_at === null) return wrong
  if (sunset_at >= earliestSunset(deprecated_at)) return []
  return [`sunset_at must lie at least ${NOTICE_MONTHS} calendar months after deprecated_at`]
}
