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

const DAY = '[A-Z][a-z]{2}'
const MONTH = '[A-Z][a-z]{2}'
const TIME = '\\d\\d:\\d\\d:\\d\\d'
/** The three formats of an HTTP date (RFC 9110 §5.6.7). `Date.parse` accepts many other texts. */
const HTTP_DATE = new RegExp(
  `^(?:${DAY}, \\d\\d ${MONTH} \\d{4} ${TIME} GMT|` +
    `${DAY}[a-z]{3,6}, \\d\\d-${MONTH}-\\d\\d ${TIME} GMT|` +
    `${DAY} ${MONTH} [ \\d]\\d ${TIME} \\d{4})$`,
)

/**
 * Parses `Retry-After` to seconds after `nowMs`; undefined for text that is neither whole seconds
 * nor an HTTP date. The engine has the same parser for deliveries; both pass the vectors of
 * `spec/vectors/retry-after.json`.
 */
export function retryAfterOf(text: string | null, nowMs: number): number | undefined {
  const value = text?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value)
  if (!HTTP_DATE.test(value)) return undefined
  // The asctime format has no zone, and Date.parse would use the local one.
  const atMs = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  return Number.isNaN(atMs) ? undefined : Math.max(0, Math.ceil((atMs - nowMs) / 1000))
}
