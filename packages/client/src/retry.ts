/** Classifies failures as transient, and computes the delay before a retry. Pure. */
import type { GatehookError } from './error.ts'

/** First delay; it doubles with each attempt. */
const BASE_MS = 250
const MAX_BACKOFF_MS = 8_000

/** Codes of errors without a response. */
const UNANSWERED = new Set(['network_error', 'timeout'])
const TRANSIENT_STATUS = new Set([429, 502, 503, 504])

/** Returns whether a retry with the same idempotency key may succeed. */
export const isTransient = (error: GatehookError): boolean =>
  UNANSWERED.has(error.code) ||
  TRANSIENT_STATUS.has(error.status) ||
  (error.status === 409 && error.code === 'idempotency_in_progress')

/**
 * Returns the delay before the next attempt in milliseconds: `Retry-After` plus up to 250 ms of
 * jitter, so that clients do not return at once; otherwise an exponential backoff, half of it
 * random.
 *
 * @param attempt - number of the failed attempt, from 1
 * @param retryAfter - seconds
 * @param random - in [0, 1)
 */
export function delayMs(attempt: number, retryAfter: number | undefined, random: number): number {
  if (retryAfter !== undefined) return retryAfter * 1000 + random * BASE_MS
  const full = Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** (attempt - 1))
  return full / 2 + (full / 2) * random
}

/** Parses `Retry-After`, a number or a date, to seconds after `nowMs`; undefined if invalid. */
export function retryAfterOf(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}
