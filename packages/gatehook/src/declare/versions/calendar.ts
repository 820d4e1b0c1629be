/**
 * The calendar of a version: its announced dates, and the state, brownouts and notice that follow
 * from them and the clock (§8.5). Pure. Instants are epoch milliseconds.
 */

/** An announced window in which the version is not served: from `start`, before `end`. */
export interface Brownout {
  readonly start: number
  readonly end: number
}

export interface Calendar {
  readonly deprecated_at: number | null
  readonly sunset_at: number | null
  /** The version to move to. */
  readonly successor: string | null
  /** URL of the migration guide. */
  readonly migration_guide: string | null
  /** URL of a page about the sunset, for `Link rel="sunset"`. */
  readonly sunset_link: string | null
  readonly brownouts: readonly Brownout[]
}

/** An operator's changes of the declared calendar. `null` removes a declared member. */
export type CalendarOverrides = Partial<Calendar>

/** A declared version. */
export interface VersionDefinition extends CalendarOverrides {
  /** `v1`. */
  readonly name: string
  /** `YYYY-MM-DD`: the day of its release, and a second name of the version. */
  readonly released: string
}

export type VersionState = 'supported' | 'deprecated' | 'retired'

export const EMPTY_CALENDAR: Calendar = {
  deprecated_at: null,
  sunset_at: null,
  successor: null,
  migration_guide: null,
  sunset_link: null,
  brownouts: [],
}

/** The minimum notice before a sunset. */
export const NOTICE_MONTHS = 6

/** The newest version and the one before it are supported. */
export const SUPPORTED_MAX = 2

export function stateAt({ deprecated_at, sunset_at }: Calendar, now: number): VersionState {
  if (sunset_at !== null && now >= sunset_at) return 'retired'
  return deprecated_at !== null && now >= deprecated_at ? 'deprecated' : 'supported'
}

/** Returns the current brownout. A retired version has none. */
export function brownoutAt(calendar: Calendar, now: number): Brownout | undefined {
  if (stateAt(calendar, now) === 'retired') return undefined
  return calendar.brownouts.find(({ start, end }) => now >= start && now < end)
}

export interface CalendarSpan {
  readonly fromMs: number
  readonly untilMs: number
}

/** Returns the longest span around `now` in which state and brownout do not change. */
export function spanAround(calendar: Calendar, now: number): CalendarSpan {
  const { deprecated_at, sunset_at, brownouts } = calendar
  const instants = [
    deprecated_at,
    sunset_at,
    ...brownouts.flatMap(({ start, end }) => [start, end]),
  ]
  let fromMs = Number.NEGATIVE_INFINITY
  let untilMs = Number.POSITIVE_INFINITY
  for (const instant of instants) {
    if (instant === null) continue
    if (instant <= now) fromMs = Math.max(fromMs, instant)
    else untilMs = Math.min(untilMs, instant)
  }
  return { fromMs, untilMs }
}

/** Returns the instant six calendar months later. A short month ends on its last day. */
export function earliestSunset(now: number): number {
  const date = new Date(now)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + NOTICE_MONTHS)
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(day, lastDay))
  return date.getTime()
}

interface CalendarMistake {
  readonly pointer: string
  readonly message: string
}

/** Returns the contradictions inside a calendar. */
export function calendarMistakes(calendar: Calendar, version: string): CalendarMistake[] {
  const { deprecated_at, sunset_at, successor, brownouts } = calendar
  const mistakes: CalendarMistake[] = []
  if (sunset_at !== null && deprecated_at === null) {
    mistakes.push({ pointer: '/deprecated_at', message: 'must be set while sunset_at is' })
  } else if (sunset_at !== null && deprecated_at !== null && sunset_at < deprecated_at) {
    mistakes.push({ pointer: '/sunset_at', message: 'must not lie before deprecated_at' })
  }
  if (successor === version) {
    mistakes.push({ pointer: '/successor', message: 'must be another version' })
  }
  for (const [index, { start, end }] of brownouts.entries()) {
    if (end > start) continue
    mistakes.push({ pointer: `/brownouts/${index}/end`, message: 'must lie after start' })
  }
  return mistakes
}

/**
 * Returns why a change needs `force` (§8.5): the notice is too short, or a retired version returns.
 * Undefined if it does not.
 */
export function forceReason(before: Calendar, after: Calendar, now: number): string | undefined {
  if (stateAt(before, now) === 'retired' && stateAt(after, now) !== 'retired') {
    return 'The version is retired, and its callers were notified.'
  }
  if (after.sunset_at === null || after.sunset_at === before.sunset_at) return undefined
  if (after.sunset_at >= earliestSunset(now)) return undefined
  return `Callers get at least ${NOTICE_MONTHS} calendar months between today and the sunset.`
}
