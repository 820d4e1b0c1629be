/** Which failures are worth another attempt, and after how long. Pure. */
import type { GatehookError } from './error.ts'

/** First pause; it doubles with each attempt. */
const BASE_MS = 250
const MAX_BACKOFF_MS = 8_000

/** Nobody answered, or a proxy did for a server that was not there. */
const UNANSWERED = new Set(['network_error', 'timeout'])
const TRANSIENT_STATUS = new Set([429, 502, 503, 504])

/** Whether the same request, with the same idempotency key, may fare better later. */
export const isTransient = (error: GatehookError): boolean =>
  UNANSWERED.has(error.code) ||
  TRANSIENT_STATUS.has(error.status) ||
  (error.status === 409 && error.code === 'idempotency_in_progress')

/**
 * Milliseconds until the next attempt: `Retry-After` where the API gave one (and a little chance on
 * top, so that all who were told the same do not come back at once), else exponential with half of
 * it chance.
 *
 * @param attempt The attempt that failed, from 1.
 * @param random In [0, 1).
 */
export function delayMs(attempt: number, retryAfter: number | undefined, random: number): number {
  if (retryAfter !== undefined) return retryAfter * 1000 + random * BASE_MS
  const full = Math.min(MAX_BACKOFF_MS, BASE_MS * 2 ** (attempt - 1))
  return full / 2 + (full / 2) * random
}

/**
 * `Retry-After` in seconds: a number, or a date relative to `nowMs`. Undefined when it is neither.
 */
export function retryAfterOf(value: string | null, nowMs: number): number | undefined {
  if (value === null) return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - nowMs) / 1000))
}
