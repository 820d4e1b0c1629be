/**
 * How callers are told that a version ends (§8.6, §8.7): headers (RFC 9745, RFC 8594, RFC 8288),
 * the warning in the body, the body of the 410. Pure.
 */
import type { Warning } from '../http/call.ts'
import type { Calendar } from './calendar.ts'
import type { VersionChange } from './change.ts'

/** What is said about one version. */
export interface Announcement {
  readonly version: string
  /** With the successor that stands where none was named. */
  readonly calendar: Calendar
  /** Base of absolute links, without a slash at the end. */
  readonly base: string
  /** What lies between this version and its successor. */
  readonly changes: readonly VersionChange[]
}

const guideOf = ({ calendar, base }: Announcement): string =>
  calendar.migration_guide ?? [base, 'docs', calendar.successor ?? []].flat().join('/')

/** Where the same API is found in the version to move to. */
export const upgradeUrl = ({ calendar, base }: Announcement): string =>
  [base, 'api', calendar.successor ?? []].flat().join('/')

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** Headers of every answer in a version that is deprecated, or was before it was retired. */
export function signalHeaders(announcement: Announcement): Readonly<Record<string, string>> {
  const { deprecated_at, sunset_at, successor, sunset_link } = announcement.calendar
  const links = [`<${guideOf(announcement)}>; rel="deprecation"`]
  if (successor !== null) links.push(`<${upgradeUrl(announcement)}>; rel="successor-version"`)
  if (sunset_at !== null && sunset_link !== null) links.push(`<${sunset_link}>; rel="sunset"`)
  return {
    ...(deprecated_at !== null && { deprecation: `@${Math.floor(deprecated_at / 1000)}` }),
    ...(sunset_at !== null && { sunset: new Date(sunset_at).toUTCString() }),
    link: links.join(', '),
  }
}

/**
 * The reference's four members. `resource`: only what changed in this one is told; every other
 * change does not concern the caller of its paths.
 */
export function deprecationWarning(announcement: Announcement, resource?: string): Warning {
  const { version, calendar, changes } = announcement
  const { sunset_at, successor } = calendar
  const gone = sunset_at === null ? '' : ` and is gone from ${dayOf(sunset_at)} on`
  const move = successor === null ? '' : ` Move to ${successor}.`
  const whys = new Set(
    changes.filter((one) => one.resource === resource).map((one) => sentence(one.why)),
  )
  const told = whys.size === 0 ? '' : ` What changes: ${[...whys].join(' ')}`
  return {
    type: 'deprecation',
    message: `Version ${version} is deprecated${gone}.${move}${told}`,
    ...(sunset_at !== null && { sunset: dayOf(sunset_at) }),
    migration_guide: guideOf(announcement),
  }
}

const sentence = (why: string): string => (/[.!?]$/.test(why) ? why : `${why}.`)

/** JSON text of the 410: the reference's four members and no more. */
export function retirementBody(announcement: Announcement): string {
  const { version, calendar } = announcement
  const since = calendar.sunset_at === null ? '' : ` since ${dayOf(calendar.sunset_at)}`
  const move = calendar.successor === null ? '' : ` Use ${calendar.successor}.`
  return JSON.stringify({
    error: 'api_version_retired',
    message: `Version ${version} is retired${since}.${move}`,
    upgrade_url: upgradeUrl(announcement),
    documentation: guideOf(announcement),
  })
}
