/**
 * An endpoint that only fails is switched off, never silently (§9.7). Pure; the engine keeps and
 * writes what stands here.
 */
const HOUR_MS = 3_600_000
/** So long after the first failure since the last success. */
export const FAILING_MS = 5 * 24 * HOUR_MS
/** Two failures at least this far apart: one bad hour before a quiet week switches nothing off. */
export const APART_MS = 12 * HOUR_MS
/** How often the time of a success or a failure is worth a write when nothing else changed. */
const NOTED_MS = 60_000

export interface Health {
  /** Since the last success; null while all is well. */
  readonly firstFailureAt: number | null
  readonly lastFailureAt: number | null
  readonly lastSuccessAt: number | null
}

/**
 * The health after an attempt that ended at `now`; the same object where nothing is worth noting.
 */
export function afterAttempt(health: Health, delivered: boolean, now: number): Health {
  if (delivered) {
    const known = health.firstFailureAt === null && isRecent(health.lastSuccessAt, now)
    return known ? health : { ...health, firstFailureAt: null, lastSuccessAt: now }
  }
  if (health.firstFailureAt !== null && isRecent(health.lastFailureAt, now)) return health
  return { ...health, firstFailureAt: health.firstFailureAt ?? now, lastFailureAt: now }
}

const isRecent = (at: number | null, now: number): boolean => at !== null && now - at < NOTED_MS
