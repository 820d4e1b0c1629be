/** The outlook of a caller of a version: a straight line through its requests by day. Pure. */

const DAY_MS = 86_400_000
/** Fewer complete days have no trend. */
const DAYS_MIN = 7
/** The change over the period, as a share of the mean, below which a caller is flat. */
const FLAT_SHARE = 0.25
/** A line that reaches zero later than this has no date. */
const AHEAD_DAYS_MAX = 400

interface Outlook {
  readonly kind: 'falling' | 'flat' | 'rising'
  /** The day of the last request if the trend continues, as epoch milliseconds. */
  readonly goneByMs: number | null
}

const FLAT: Outlook = { kind: 'flat', goneByMs: null }

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

/**
 * Returns the outlook of a caller.
 *
 * @param daily requests of complete days, the oldest first
 * @param todayMs the start of the day after them
 */
export function outlookOf(daily: readonly number[], todayMs: number): Outlook {
  const first = daily.findIndex((value) => value > 0)
  // Days before the first request say nothing of a caller that is new in the period.
  const values = first < 0 ? [] : daily.slice(first)
  if (values.length < DAYS_MIN) return FLAT
  const { slope, mean } = fitLine(values)
  const change = (slope * (values.length - 1)) / mean
  if (Math.abs(change) < FLAT_SHARE) return FLAT
  if (slope > 0) return { kind: 'rising', goneByMs: null }
  const level = mean + (slope * (values.length + 1)) / 2
  const days = Math.max(0, Math.ceil(level / -slope))
  return { kind: 'falling', goneByMs: days > AHEAD_DAYS_MAX ? null : todayMs + days * DAY_MS }
}
