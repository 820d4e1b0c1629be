/** The trend of a caller of a version, from its requests by day. Pure. */

/** Fewer complete days have no trend. */
const DAYS_MIN = 7
/** The least change between the halves of the period, as a share of the first. */
const CHANGE_MIN = 0.25

export type TrendKind = 'falling' | 'flat' | 'rising'

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * Compares the requests a day of the later half of the days with those of the earlier half. Days
 * before the first request say nothing of a caller that is new in the period.
 *
 * @param daily requests of complete days, the oldest first
 */
export function trendOf(daily: readonly number[]): TrendKind {
  const first = daily.findIndex((value) => value > 0)
  const values = first < 0 ? [] : daily.slice(first)
  if (values.length < DAYS_MIN) return 'flat'
  const middle = Math.floor(values.length / 2)
  const [early, late] = [meanOf(values.slice(0, middle)), meanOf(values.slice(middle))]
  if (late <= early * (1 - CHANGE_MIN)) return 'falling'
  return late >= early * (1 + CHANGE_MIN) ? 'rising' : 'flat'
}
