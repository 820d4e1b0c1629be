/**
 * What is announced about a version, and what follows from it and the clock alone (§8.5): its
 * state, its brownouts, the notice callers get. Pure. Instants are epoch milliseconds.
 */

/** An announced window in which the version is not served: `start` is in it, `end` is not. */
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

/** What was announced after the declaration; `null` takes back what the declaration says. */
export type Overrides = Partial<Calendar>

/** A version as the service declares it. */
export interface VersionDefinition extends Overrides {
  /** `v1`. */
  readonly name: string
  /** `YYYY-MM-DD`: the day of its release, and its other name. */
  readonly released: string
}

export type State = 'supported' | 'deprecated' | 'retired'

export const NOTHING_ANNOUNCED: Calendar = {
  deprecated_at: null,
  sunset_at: null,
  successor: null,
  migration_guide: null,
  sunset_link: null,
  brownouts: [],
}

/** Callers are told at least this long before a version is gone. */
export const NOTICE_MONTHS = 6

/** Majors that are neither deprecated nor retired: the newest and the one before it. */
export const SUPPORTED_MAX = 2

export function stateAt({ deprecated_at, sunset_at }: Calendar, now: number): State {
  if (sunset_at !== null && now >= sunset_at) return 'retired'
  return deprecated_at !== null && now >= deprecated_at ? 'deprecated' : 'supported'
}

/** The brownout of this moment; a retired version has none. */
export function brownoutAt(calendar: Calendar, now: number): Brownout | undefined {
  if (stateAt(calendar, now) === 'retired') return undefined
  return calendar.brownouts.find(({ start, end }) => now >= start && now < end)
}

export interface Span {
  readonly fromMs: number
  readonly untilMs: number
}

/** The longest span around `now` in which state and brownout stay as they are. */
export function spanAround(calendar: Calendar, now: number): Span {
  const { deprecated_at, sunset_at, brownouts } = calendar
  const turns = [deprecated_at, sunset_at, ...brownouts.flatMap(({ start, end }) => [start, end])]
  let fromMs = Number.NEGATIVE_INFINITY
  let untilMs = Number.POSITIVE_INFINITY
  for (const turn of turns) {
    if (turn === null) continue
    if (turn <= now) fromMs = Math.max(fromMs, turn)
    else untilMs = Math.min(untilMs, turn)
  }
  return { fromMs, untilMs }
}

/** The earliest sunset that needs no force: six calendar months on, the day cut to its month. */
export function earliestSunset(now: number): number {
  const date = new Date(now)
  const day = date.getUTCDate()
  date.setUTCDate(1)
  date.setUTCMonth(date.getUTCMonth() + NOTICE_MONTHS)
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate()
  date.setUTCDate(Math.min(day, last))
  return date.getTime()
}

/** What a change of the calendar still has to answer for, each with its pointer. */
export interface Objection {
  readonly pointer: string
  readonly message: string
}

/** Why a calendar does not hold together, whoever wrote it. */
export function contradictions(calendar: Calendar, version: string): Objection[] {
  const { deprecated_at, sunset_at, successor, brownouts } = calendar
  const wrong: Objection[] = []
  if (sunset_at !== null && deprecated_at === null) {
    wrong.push({ pointer: '/deprecated_at', message: 'must be set while sunset_at is' })
  } else if (sunset_at !== null && deprecated_at !== null && sunset_at < deprecated_at) {
    wrong.push({ pointer: '/sunset_at', message: 'must not lie before deprecated_at' })
  }
  if (successor === version) {
    wrong.push({ pointer: '/successor', message: 'must be another version' })
  }
  for (const [at, { start, end }] of brownouts.entries()) {
    if (end > start) continue
    wrong.push({ pointer: `/brownouts/${at}/end`, message: 'must lie after start' })
  }
  return wrong
}

/**
 * Whether a change needs force (§8.5): it gives callers less than the notice, or brings back what
 * they were told is gone. A sentence, or undefined.
 */
export function shortNotice(before: Calendar, after: Calendar, now: number): string | undefined {
  if (stateAt(before, now) === 'retired' && stateAt(after, now) !== 'retired') {
    return 'The version is retired; callers were told that it is gone.'
  }
  if (after.sunset_at === null || after.sunset_at === before.sunset_at) return undefined
  if (after.sunset_at >= earliestSunset(now)) return undefined
  return `Callers get at least ${NOTICE_MONTHS} calendar months between today and the sunset.`
}
