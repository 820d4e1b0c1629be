/**
 * The announcements in responses of a deprecated or retired version (§8.6, §8.7): headers, the
 * warning in the body, and the body of the 410. Pure.
 */
import type { Warning } from '../../protocol/http/call.ts'
import type { Calendar } from './calendar.ts'
import type { VersionChange } from './change.ts'

export interface VersionAnnouncement {
  readonly version: string
  /** With the default successor if none was announced. */
  readonly calendar: Calendar
  /** Base of absolute links, without a slash at the end. */
  readonly base: string
  /** The changes between this version and its successor. */
  readonly changes: readonly VersionChange[]
}

const guideUrl = ({ calendar, base }: VersionAnnouncement): string =>
  calendar.migration_guide ?? [base, 'docs', calendar.successor ?? []].flat().join('/')

/** Returns the base URL of the API in the successor. */
export const upgradeUrl = ({ calendar, base }: VersionAnnouncement): string =>
  [base, 'api', calendar.successor ?? []].flat().join('/')

/** Returns the page that documents the failures. */
export const errorsUrl = ({ version, calendar, base }: VersionAnnouncement): string =>
  [base, 'docs', calendar.successor ?? version, 'errors'].join('/')

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/**
 * Returns the headers of every response of a deprecated or retired version.
 *
 * @see RFC 9745 (`Deprecation`), RFC 8594 (`Sunset`), RFC 8288 (`Link`)
 */
export function deprecationHeaders(
  announcement: VersionAnnouncement,
): Readonly<Record<string, string>> {
  const { deprecated_at, sunset_at, successor, sunset_link } = announcement.calendar
  const links = [`<${guideUrl(announcement)}>; rel="deprecation"`]
  if (successor !== null) links.push(`<${upgradeUrl(announcement)}>; rel="successor-version"`)
  if (sunset_at !== null && sunset_link !== null) links.push(`<${sunset_link}>; rel="sunset"`)
  return {
    ...(deprecated_at !== null && { deprecation: `@${Math.floor(deprecated_at / 1000)}` }),
    ...(sunset_at !== null && { sunset: new Date(sunset_at).toUTCString() }),
    link: links.join(', '),
  }
}

/** Returns the warning for a body. It lists the breaking changes of `resource` only. */
export function deprecationWarning(announcement: VersionAnnouncement, resource?: string): Warning {
  const { version, calendar, changes } = announcement
  const { sunset_at, successor } = calendar
  const end = sunset_at === null ? '' : ` and ends on ${dayOf(sunset_at)}`
  const move = successor === null ? '' : ` Move to ${successor}.`
  const reasons = new Set(
    changes
      .filter((change) => change.resource === resource)
      .map(({ why }) => (/[.!?]$/.test(why) ? why : `${why}.`)),
  )
  const summary = reasons.size === 0 ? '' : ` Changes: ${[...reasons].join(' ')}`
  return {
    type: 'deprecation',
    message: `Version ${version} is deprecated${end}.${move}${summary}`,
    ...(sunset_at !== null && { sunset: dayOf(sunset_at) }),
    migration_guide: guideUrl(announcement),
  }
}

/** Returns the JSON text of the 410. It has these four members only. */
export function retirementBody(announcement: VersionAnnouncement): string {
  const { version, calendar } = announcement
  const since = calendar.sunset_at === null ? '' : ` since ${dayOf(calendar.sunset_at)}`
  const move = calendar.successor === null ? '' : ` Use ${calendar.successor}.`
  return JSON.stringify({
    error: 'api_version_retired',
    message: `Version ${version} is retired${since}.${move}`,
    upgrade_url: upgradeUrl(announcement),
    documentation: guideUrl(announcement),
  })
}
