/**
 * The due times of a recurring job: an interval (`15m`, `1h`), aligned to midnight of 1 January
 * 1970 in UTC, or a cron expression with five fields, in a time zone. Pure.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Cron } from 'croner'
import { closestClause } from '../../kernel/closest.ts'

const UNIT_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const INTERVAL = /^([1-9]\d{0,5})([smhd])$/
const CRON_FIELDS = 5
/** Longer expressions are rejected: a list of all minutes has 169 characters. */
const CRON_LENGTH_MAX = 200
/** An expression that is not due within this period is a mistake: 29 February is due in 8 years. */
const HORIZON_MS = 10 * 366 * UNIT_MS.d

/** Returns the first due time after an instant, both in epoch milliseconds. */
export type NextDueTime = (afterMs: number) => number

/**
 * Returns the due times of an expression, or a sentence for the developer.
 *
 * @param timeZone the zone of a cron expression
 */
export function parseSchedule(
  expression: string,
  nowMs: number,
  timeZone: string = UTC,
): NextDueTime | string {
  if (!isTimeZone(timeZone)) {
    const zone = String(timeZone)
    return `there is no time zone ${zone}${closestClause(zone, Intl.supportedValuesOf('timeZone'))}`
  }
  const [, count, unit] = INTERVAL.exec(expression) ?? []
  if (count !== undefined) {
    const periodMs = Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS]
    return (afterMs) => (Math.floor(afterMs / periodMs) + 1) * periodMs
  }
  const fields = expression.split(' ')
  const isCron =
    expression.length <= CRON_LENGTH_MAX &&
    fields.length === CRON_FIELDS &&
    fields.every((field) => field !== '' && !/\s/.test(field))
  if (!isCron) return `"${expression}" is no interval such as 15m, 1h or 1d, and no cron expression`
  try {
    const cron = new Cron(expression, { mode: '5-part', timezone: 'UTC', paused: true })
    const nextOfUtc = (afterMs: number) => cron.nextRun(new Date(afterMs))?.getTime() ?? Infinity
    const next = timeZone === UTC ? nextOfUtc : inZone(nextOfUtc, timeZone)
    if (next(nowMs) - nowMs <= HORIZON_MS) return next
    return `"${expression}" is never due`
  } catch (error) {
    return `"${expression}" is no cron expression: ${(error as Error).message}`
  }
}

/** The zone of schedules without another one. */
const UTC = 'UTC'

function isTimeZone(timeZone: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone }).format(0) !== '' && timeZone !== undefined
  } catch {
    return false
  }
}

/**
 * Returns the due times in a zone, whose clock shows the times of UTC. A time that the clock skips
 * is due when it changes; of a time that the clock repeats, the first is due.
 */
function inZone(nextOfUtc: NextDueTime, zone: string): NextDueTime {
  return (afterMs) => {
    for (let localMs = localTimeAt(afterMs, zone); ; ) {
      localMs = nextOfUtc(localMs)
      if (localMs === Infinity) return Infinity
      const dueAt = firstInstantOf(localMs, zone)
      if (dueAt > afterMs) return dueAt
    }
  }
}

const inUtc = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(UTC)

/** Returns the time that the clock of a zone shows, as if it were UTC. */
const localTimeAt = (ms: number, zone: string): number =>
  inUtc(ms).withTimeZone(zone).toPlainDateTime().toZonedDateTime(UTC).epochMilliseconds

/** Returns when the clock of a zone shows a time first, or skips it. */
function firstInstantOf(localMs: number, zone: string): number {
  const localTime = inUtc(localMs).toPlainDateTime()
  const first = localTime.toZonedDateTime(zone, { disambiguation: 'earlier' })
  const isSkipped = !first.toPlainDateTime().equals(localTime)
  return (isSkipped ? first.getTimeZoneTransition('next')! : first).epochMilliseconds
}

/** Returns the date of an instant in a zone, `2026-11-29`. */
export const dayIn = (ms: number, zone: string = UTC): string =>
  inUtc(ms).withTimeZone(zone).toPlainDate().toString()

/** Due times among which the longest interval is sought: a week of workdays, and more. */
const INTERVALS = 8

/** Returns the longest interval between the next due times; zones change little of it. */
export function longestIntervalMs(expression: string, nowMs: number): number {
  const next = parseSchedule(expression, nowMs)
  if (typeof next === 'string') return Number.POSITIVE_INFINITY
  let [longestMs, at] = [0, next(nowMs)]
  for (let count = 0; count < INTERVALS; count++) {
    const following = next(at)
    longestMs = Math.max(longestMs, following - at)
    at = following
  }
  return longestMs
}

/** Returns the first due time after an instant; the instant itself for an invalid expression. */
export function nextRunAfter(expression: string, nowMs: number): number {
  const next = parseSchedule(expression, nowMs)
  return typeof next === 'string' ? nowMs : next(nowMs)
}

/** The due times that one run serves. */
export interface PassedTimes {
  /** The latest due time that has passed, in epoch milliseconds. */
  readonly dueAt: number
  /** The number of earlier ones, up to `MISSED_MAX`. */
  readonly missed: number
}

/** More than a month of minutes: a run that waits for longer is purged. */
const MISSED_MAX = 100_000
/** Due times that are counted in one turn of the event loop. */
const SLICE = 200

/**
 * Returns the due times from one that has passed up to an instant, for a run that serves them all.
 *
 * @param firstMs a due time, at most `nowMs`
 */
export async function findPassedTimes(
  next: NextDueTime,
  firstMs: number,
  nowMs: number,
): Promise<PassedTimes> {
  const dueAt = latestDueTime(next, firstMs, nowMs)
  let missed = 0
  for (let at = firstMs; at < dueAt && missed < MISSED_MAX; at = next(at)) {
    missed++
    if (missed % SLICE === 0) await nextTurn()
  }
  return { dueAt, missed }
}

/** Halves the interval: due times can be frequent and far in the past. */
function latestDueTime(next: NextDueTime, firstMs: number, nowMs: number): number {
  const isBeforeLatest = (ms: number) => next(ms) <= nowMs
  if (!isBeforeLatest(firstMs)) return firstMs
  let [low, high] = [firstMs, nowMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isBeforeLatest(middle)) low = middle
    else high = middle
  }
  return next(low)
}

/** The input of a recurring job: the due times that its run serves. */
export interface RunInput {
  /** The expression of its schedule. */
  readonly every: string
  /** The latest due time; before the first attempt, the earliest. */
  readonly due_at: number
  /** The number of earlier ones. */
  readonly missed: number
  /** The earliest. */
  readonly first_at: number
  /** The number of the last customer that has its own run, while the others get theirs. */
  readonly after?: number
}

/** Returns the input of a recurring job. */
export const inputOfRun = (
  every: string,
  due_at: number,
  missed = 0,
  first_at: number = due_at,
): string => JSON.stringify({ every, due_at, missed, first_at } satisfies RunInput)
