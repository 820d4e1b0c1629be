/**
 * The outlook of the callers of a version: a straight line through the requests of each by day, and
 * their sum. Pure.
 */

const DAY_MS = 86_400_000
/** Fewer complete days have no trend. */
const DAYS_MIN = 7
/** The change over the period, as a share of the mean, below which a caller is flat. */
const FLAT_SHARE = 0.25
/** A line that reaches zero later than this has no date. */
const AHEAD_DAYS_MAX = 400
/** The length of a forecast: an end is announced at least six months before. */
const FORECAST_AHEAD_DAYS = 800

interface Outlook {
  readonly kind: 'falling' | 'flat' | 'rising'
  /** The day of the last request if the trend continues, as epoch milliseconds. */
  readonly goneByMs: number | null
}

/** The line of a caller, as requests a day. */
interface CallerTrend {
  readonly kind: Outlook['kind']
  /** At the start of today. */
  readonly level: number
  /** By which each day of a falling caller is lower. */
  readonly fall: number
}

/** A corner of the forecast. */
export interface ForecastPoint {
  readonly atMs: number
  readonly requests: number
}

/** Returns the line of least squares through values at 0, 1, 2, … */
function fitLine(values: readonly number[]): { readonly slope: number; readonly mean: number } {
  const middle = (values.length - 1) / 2
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  let product = 0
  let square = 0
  for (const [at, value] of values.entries()) {
    product += (at - middle) * (value - mean)
    square += (at - middle) ** 2
  }
  return { slope: product / square, mean }
}

const flatLine = (values: readonly number[]) => ({ slope: 0, mean: fitLine(values).mean })

function trendOf(daily: readonly number[]): CallerTrend {
  const first = daily.findIndex((value) => value > 0)
  // Days before the first request say nothing of a caller that is new in the period.
  const values = first < 0 ? [] : daily.slice(first)
  if (values.length === 0) return { kind: 'flat', level: 0, fall: 0 }
  const { slope, mean } = values.length < DAYS_MIN ? flatLine(values) : fitLine(values)
  const change = (slope * (values.length - 1)) / mean
  if (Math.abs(change) < FLAT_SHARE) return { kind: 'flat', level: mean, fall: 0 }
  const level = Math.max(0, mean + (slope * (values.length + 1)) / 2)
  return slope > 0 ? { kind: 'rising', level, fall: 0 } : { kind: 'falling', level, fall: -slope }
}

/** Returns the days until a falling caller sends no request; undefined for the others. */
const daysLeft = ({ kind, level, fall }: CallerTrend): number | undefined =>
  kind === 'falling' ? Math.ceil(level / fall) : undefined

/**
 * Returns the outlook of a caller.
 *
 * @param daily requests of complete days, the oldest first
 * @param todayMs the start of the day after them
 */
export function outlookOf(daily: readonly number[], todayMs: number): Outlook {
  const trend = trendOf(daily)
  const days = daysLeft(trend)
  const isDated = days !== undefined && days <= AHEAD_DAYS_MAX
  return { kind: trend.kind, goneByMs: isDated ? todayMs + days * DAY_MS : null }
}

/**
 * Returns the requests a day of all callers if the trend of each falling one continues and the
 * others stay: a line of straight pieces over 800 days. Empty without requests.
 *
 * @param callers requests of each caller on complete days, the oldest first
 * @param todayMs the start of the day after them
 */
export function forecastOf(
  callers: readonly (readonly number[])[],
  todayMs: number,
): readonly ForecastPoint[] {
  const trends = callers.map(trendOf).filter(({ level, kind }) => level > 0 || kind === 'falling')
  if (trends.length === 0) return []
  const ends = trends.flatMap((trend) => daysLeft(trend) ?? [])
  const corners = new Set([
    0,
    ...ends.filter((days) => days < FORECAST_AHEAD_DAYS),
    FORECAST_AHEAD_DAYS,
  ])
  return [...corners]
    .toSorted((a, b) => a - b)
    .map((days) => ({ atMs: todayMs + days * DAY_MS, requests: sumOn(trends, days) }))
}

function sumOn(trends: readonly CallerTrend[], days: number): number {
  const sum = trends.reduce((sum, { level, fall }) => sum + Math.max(0, level - fall * days), 0)
  return Math.round(sum * 10) / 10
}
