/**
 * The retry schedule (§9.6): maps the outcome of an attempt to the next state of its delivery and
 * the hold of its endpoint. Pure; time and randomness are arguments.
 */
import { isDelivered, type Outcome, parseRetryAfterMs } from '../transport/attempt.ts'
import type { StoredState } from './delivery.ts'

const HOUR_MS = 3_600_000
/** A delivery expires after this retention period; so do events (§9.11, §9.12). */
export const RETENTION_MS = 30 * 24 * HOUR_MS
/** The longest hold that `Retry-After` can set. */
export const RETRY_AFTER_MAX_MS = 24 * HOUR_MS
/** The hold after 429 or 503 without `Retry-After`. */
const DEFAULT_HOLD_MS = 60_000
/** A delay is up to this share shorter or longer, so that retries of an outage spread out. */
const JITTER = 0.2

const GONE = 410
const BUSY = new Set([429, 503])

interface RetryVerdict {
  readonly state: StoredState
  /** When the next attempt of a pending delivery is due. */
  readonly nextAt: number | null
  /** The engine sends nothing to the endpoint before this instant. */
  readonly holdUntil?: number
  /** The receiver responded 410: the engine disables its registration. */
  readonly isGone?: true
}

interface AttemptFacts {
  /** The attempt's number in its round, from 1. Each resend of a delivery starts a round. */
  readonly inRound: number
  readonly now: number
  /** `GATEHOOK_WEBHOOK_SCHEDULE_S`: delays before the second, third, … attempt. */
  readonly scheduleS: readonly number[]
  /** From 0 up to 1. */
  readonly chance: number
}

/** Decides the next state of a delivery, and the hold of its endpoint, from an outcome. */
export function decideRetry(
  outcome: Outcome,
  { inRound, now, scheduleS, chance }: AttemptFacts,
): RetryVerdict {
  if (isDelivered(outcome)) return { state: 'delivered', nextAt: null }
  const status = outcome.kind === 'answered' ? outcome.status : undefined
  if (status === GONE) return { state: 'failed', nextAt: null, isGone: true }
  const retryMs =
    outcome.kind === 'answered' ? parseRetryAfterMs(outcome.retryAfter, now) : undefined
  const defaultMs = status !== undefined && BUSY.has(status) ? DEFAULT_HOLD_MS : undefined
  const holdMs = retryMs === undefined ? defaultMs : Math.min(retryMs, RETRY_AFTER_MAX_MS)
  const hold = holdMs ? { holdUntil: now + holdMs } : {}
  const delayS = scheduleS[inRound - 1]
  if (delayS === undefined) return { state: 'exhausted', nextAt: null, ...hold }
  const jitteredMs = delayS * 1000 * (1 - JITTER + 2 * JITTER * chance)
  return { state: 'pending', nextAt: now + Math.round(Math.max(jitteredMs, holdMs ?? 0)), ...hold }
}

/** Returns the longest time, in milliseconds, that a correct clock can postpone an attempt. */
export const longestWaitMs = (scheduleS: readonly number[]): number =>
  Math.max(RETRY_AFTER_MAX_MS, ...scheduleS.map((delayS) => delayS * 1000 * (1 + JITTER)))

/** Whether the retention period of a delivery has passed, so that it gets no further attempt. */
export const isExpired = (createdAt: number, now: number): boolean =>
  now - createdAt >= RETENTION_MS
