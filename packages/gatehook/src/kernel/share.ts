/**
 * Limits the work of a key (a customer) to a part of the time of one thread, writer or server: the
 * key rests after its work (§11.5).
 */
import type { Clock } from './clock.ts'

/** A key counts as active for this time after a request. */
const ACTIVE_MS = 1_000
/** Keys with work that are remembered before those that have rested are removed. */
const KEPT_MIN = 1_000

type ShareKey = number | string

export interface ShareOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** 0.1: after 50 ms of work, 450 ms of rest. */
  readonly part: number
  /** Work that a rested key may do without rest. Default 0. */
  readonly burstMs?: number
  /** A rest ends after this time, also when the work took longer because the machine is busy. */
  readonly restMaxMs?: number
  /** Whether a key rests only while another one is active: alone it uses all of the time. */
  readonly isBesideOthers?: boolean
}

export interface Share {
  /** Notes a request of a key. */
  note(key: ShareKey): void
  /** Adds work that ends now, and returns how long the key rests, in milliseconds. */
  addWork(key: ShareKey, workMs: number): number
  /** Returns how long a key still rests, in milliseconds; 0 or less if it may work. */
  restMs(key: ShareKey): number
  /** Returns whether a key that rests only beside others has no active one beside it. */
  isAlone(key: ShareKey): boolean
}

export function createShare(options: ShareOptions): Share {
  const { clock, part, burstMs = 0, restMaxMs = Number.POSITIVE_INFINITY } = options
  let latest: { readonly key?: ShareKey; atMs: number } = { atMs: Number.NEGATIVE_INFINITY }
  /** The last one of another key than `latest`. */
  let other = latest
  /** The instant from which a key may work, before its burst is added. */
  const dueMs = new Map<ShareKey, number>()
  let keptMax = KEPT_MIN
  const isAlone = (key: ShareKey): boolean => {
    if (!options.isBesideOthers) return false
    const { atMs } = latest.key === key ? other : latest
    return clock.elapsedMs() - atMs >= ACTIVE_MS
  }
  const restMs = (key: ShareKey) =>
    isAlone(key) ? 0 : Math.max(0, (dueMs.get(key) ?? 0) - clock.elapsedMs())
  return {
    note(key) {
      const atMs = clock.elapsedMs()
      if (latest.key === key) {
        latest.atMs = atMs
        return
      }
      other = latest
      latest = { key, atMs }
    },
    addWork(key, workMs) {
      const nowMs = clock.elapsedMs()
      const restedMs = nowMs - workMs - burstMs / part
      const fromMs = Math.max(dueMs.get(key) ?? restedMs, restedMs)
      // Work during a rest, beside other work of the key, adds its own rest only.
      const doneMs = Math.max(fromMs, Math.min(fromMs + workMs, nowMs))
      // A key that was alone rests for the first requests of another one, and no longer.
      const mostMs = isAlone(key) ? Math.min(ACTIVE_MS, restMaxMs) : restMaxMs
      dueMs.set(key, Math.min(doneMs + workMs * (1 / part - 1), nowMs + mostMs))
      if (dueMs.size > keptMax) {
        for (const [rested, due] of dueMs) if (due <= restedMs) dueMs.delete(rested)
        // The next removal reads twice as many, so that a key costs a constant number of steps.
        keptMax = Math.max(KEPT_MIN, 2 * dueMs.size)
      }
      return restMs(key)
    },
    restMs,
    isAlone,
  }
}
