/** The JSON of `/admin/versions`, and the words and dates that follow from it. Pure. */
import { count, day, timeOfDay } from '../../format.ts'
import type { Tone } from '../../parts/state.tsx'

interface Brownout {
  readonly start: string
  readonly end: string
}

/** `GET /admin/versions/{v}`. */
export interface VersionDetail {
  readonly version: string
  readonly state: 'supported' | 'deprecated' | 'retired'
  readonly released: string
  readonly deprecated_at: string | null
  readonly sunset_at: string | null
  readonly successor: string | null
  readonly migration_guide: string | null
  readonly sunset_link: string | null
  readonly brownouts: readonly Brownout[]
}

const DAY_MS = 86_400_000

export const versionPath = (version: string): string =>
  `/admin/versions/${encodeURIComponent(version)}`

const isDuring = ({ start, end }: Brownout, nowMs: number): boolean =>
  nowMs >= Date.parse(start) && nowMs < Date.parse(end)

/** Returns the state of a version in words, with its end. */
export function versionState(row: VersionDetail, nowMs: number): readonly [Tone, string] {
  const { state, sunset_at: end, deprecated_at: from, brownouts } = row
  if (state === 'retired') return ['bad', end ? `Retired since ${day(end)}` : 'Retired']
  if (brownouts.some((window) => isDuring(window, nowMs))) return ['bad', 'In a brownout']
  const days = end === null ? undefined : Math.max(0, Math.ceil((Date.parse(end) - nowMs) / DAY_MS))
  if (state === 'deprecated') {
    return [
      'warn',
      days === undefined ? 'Deprecated, no end' : `Deprecated, ends in ${count(days, 'day')}`,
    ]
  }
  if (from !== null) return ['ok', `Supported, deprecated from ${day(from)}`]
  return ['ok', 'Supported']
}

/** Returns the label of the button that changes the end. */
export const moveLabel = ({ sunset_at: end }: Pick<VersionDetail, 'sunset_at'>): string =>
  end === null ? 'Set the end…' : 'Move the end…'

/** The words of a brownout: `09:00 to 13:00 UTC`, or to another day. */
export function brownoutWords({ start, end }: Brownout): string {
  const [from, to] = [timeOfDay(start).slice(0, 5), timeOfDay(end).slice(0, 5)]
  return day(start) === day(end) ? `${from} to ${to} UTC` : `${from} UTC to ${day(end)}, ${to} UTC`
}

export interface CalendarDate {
  readonly kind: 'released' | 'deprecated' | 'brownout' | 'today' | 'sunset'
  readonly at: string
  readonly isPast: boolean
  readonly brownout?: Brownout
}

/** Returns the time of the page, or a later instant that the state has already reached. */
function reachedMs({ state, deprecated_at, sunset_at }: VersionDetail, pageMs: number): number {
  const dates = [
    ...(state !== 'supported' && deprecated_at !== null ? [Date.parse(deprecated_at)] : []),
    ...(state === 'retired' && sunset_at !== null ? [Date.parse(sunset_at)] : []),
  ]
  return Math.max(pageMs, ...dates)
}

/** Returns the dates of a version in their order, and today among them if one is to come. */
export function datesOf(row: VersionDetail, pageMs: number): readonly CalendarDate[] {
  const nowMs = reachedMs(row, pageMs)
  const date = (kind: CalendarDate['kind'], at: string): CalendarDate => ({
    kind,
    at,
    isPast: Date.parse(at) <= nowMs,
  })
  const dates = [
    date('released', row.released),
    ...(row.deprecated_at ? [date('deprecated', row.deprecated_at)] : []),
    ...row.brownouts.map((window) => ({ ...date('brownout', window.start), brownout: window })),
    ...(row.sunset_at ? [date('sunset', row.sunset_at)] : []),
  ]
  if (dates.some(({ isPast }) => !isPast)) {
    dates.push({ ...date('today', new Date(nowMs).toISOString()), isPast: false })
  }
  return dates.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
}

/** A row of `GET /admin/versions/{v}/callers`. */
export interface Caller {
  /** Null for unauthenticated callers. */
  readonly customer: string | null
  readonly customer_name: string | null
  readonly contact: string | null
  /** Null for unauthenticated callers. */
  readonly mode: 'live' | 'test' | null
  readonly kind: 'key' | 'client' | 'workload' | 'person' | 'anonymous' | 'webhook'
  readonly id: string | null
  readonly name: string | null
  readonly routes: readonly { readonly method: string; readonly route: string }[]
  readonly count: number
  readonly daily: readonly number[]
  readonly last_at: string | null
  readonly outlook: { readonly kind: string }
}

const OUTLOOKS: Readonly<Record<string, readonly [Tone, string]>> = {
  falling: ['ok', 'Falling'],
  flat: ['warn', 'Not moving'],
  rising: ['bad', 'Rising'],
  pinned: ['warn', 'Pinned'],
}

/** Returns the outlook of a caller in words. */
export const outlookWords = ({ kind }: Caller['outlook']): readonly [Tone, string] =>
  OUTLOOKS[kind] ?? ['warn', kind]

const NOTICE_MONTHS = 6

/** Returns the earliest end without force: six calendar months later, from the next midnight. */
export function earliestEnd(nowMs: number): string {
  const tomorrow = new Date(nowMs + DAY_MS)
  const [year, month] = [tomorrow.getUTCFullYear(), tomorrow.getUTCMonth() + NOTICE_MONTHS]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return new Date(Date.UTC(year, month, Math.min(tomorrow.getUTCDate(), lastDay))).toISOString()
}

const HOUR_MS = 3_600_000
const WEEK_MS = 7 * DAY_MS

/** Returns the hours of the week that a window touches; undefined without a valid window. */
export function hoursOfWeek(
  start: string,
  end: string,
): { readonly weekday: number; readonly hour: number; readonly hours: number } | undefined {
  const [from, to] = [Date.parse(start), Date.parse(end)]
  if (!(to > from) || to - from > WEEK_MS) return undefined
  const first = Math.floor(from / HOUR_MS)
  const hours = Math.min(Math.ceil(to / HOUR_MS) - first, WEEK_MS / HOUR_MS)
  const date = new Date(from)
  return { weekday: date.getUTCDay() || 7, hour: date.getUTCHours(), hours }
}
