/** Latency in buckets, and percentiles interpolated from them. Pure. */

/** Upper bounds of the buckets of `/metrics`, in milliseconds; a last bucket has no bound. */
const LATENCY_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000]

export const LATENCY_BUCKETS = LATENCY_BOUNDS_MS.length + 1

/** Returns the bucket of a duration. */
export function bucketOf(ms: number): number {
  let bucket = 0
  while (ms > (LATENCY_BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
  return bucket
}

/**
 * Returns a percentile in milliseconds, linear within its bucket; null without values. The last
 * bucket yields its lower bound.
 *
 * @param fraction 0.95 for p95
 */
export function percentile(counts: readonly number[], fraction: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  const rank = fraction * total
  let before = 0
  for (const [bucket, count] of counts.entries()) {
    if (count > 0 && before + count >= rank) {
      const lower = LATENCY_BOUNDS_MS[bucket - 1] ?? 0
      const upper = LATENCY_BOUNDS_MS[bucket]
      if (upper === undefined) return lower
      const value = lower + ((upper - lower) * (rank - before)) / count
      return Math.round(value * 100) / 100
    }
    before += count
  }
  return LATENCY_BOUNDS_MS.at(-1)!
}
