/**
 * What an attempt's outcome means for its delivery and its endpoint (§9.6). Pure: time and chance
 * come in, a verdict goes out.
 */
import { isDelivered, type Outcome, retryAfterMs } from '../transport/attempt.ts'
import type { StoredState } from './delivery.ts'

const HOUR_MS = 3_600_000
/** A delivery nobody took within this is exhausted, and so is one whose event is gone. */
export const KEPT_MS = 30 * 24 * HOUR_MS
/** An endpoint is parked no longer. */
export const RETRY_AFTER_MAX_MS = 24 * HOUR_MS
/** For how long 429 and 503 park an endpoint when they do not say. */
const PARKED_MS = 60_000
/** A delay is up to so much shorter or longer, so that retries of a broken hour do not meet. */
const JITTER = 0.2

const GONE = 410
const BUSY = new Set([429, 503])

export interface Verdict {
  readonly state: StoredState
  /** When a pending one is tried again. */
  readonly nextAt: number | null
  /** Nothing is sent to the endpoint before this instant. */
  readonly parkedUntil?: number
  /** The receiver says that it is gone: its registration is switched off. */
  readonly gone?: true
}

export interface Attempted {
  /** The attempt's number, from 1. */
  readonly n: number
  readonly now: number
  /** `GATEHOOK_WEBHOOK_SCHEDULE_S`: delays before the second, third, … attempt. */
  readonly scheduleS: readonly number[]
  /** From 0 up to 1. */
  readonly chance: number
}

export function judge(outcome: Outcome, { n, now, scheduleS, chance }: Attempted): Verdict {
  if (isDelivered(outcome)) return { state: 'delivered', nextAt: null }
  const status = outcome.kind === 'answered' ? outcome.status : undefined
  if (status === GONE) return { state: 'failed', nextAt: null, gone: true }
  const asked = outcome.kind === 'answered' ? retryAfterMs(outcome.retryAfter, now) : undefined
  const waits = asked === undefined ? undefined : Math.min(asked, RETRY_AFTER_MAX_MS)
  const parked = waits ?? (status !== undefined && BUSY.has(status) ? PARKED_MS : undefined)
  const park = parked ? { parkedUntil: now + parked } : {}
  const delayS = scheduleS[n - 1]
  if (delayS === undefined) return { state: 'exhausted', nextAt: null, ...park }
  const jittered = delayS * 1000 * (1 - JITTER + 2 * JITTER * chance)
  return { state: 'pending', nextAt: now + Math.round(Math.max(jittered, parked ?? 0)), ...park }
}

/** No attempt is further ahead than this, unless a clock that ran ahead put it there. */
export const longestWaitMs = (scheduleS: readonly number[]): number =>
  Math.max(RETRY_AFTER_MAX_MS, ...scheduleS.map((delayS) => delayS * 1000 * (1 + JITTER)))

/** Whether a delivery's time is over: it is not attempted any more. */
export const isExpired = (createdAt: number, now: number): boolean => now - createdAt >= KEPT_MS
