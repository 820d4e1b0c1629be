/**
 * The request and the outcome of one attempt, as data (§9.5, §9.6). Pure: `transport.ts` opens the
 * sockets, and the delivery engine interprets the outcome.
 */

export interface AttemptRequest {
  /** `http:` or `https:`; the transport validates it at every attempt. */
  readonly url: string
  /** Default POST; a GET has no body. */
  readonly method?: 'GET' | 'POST'
  /** The bytes that were signed. */
  readonly body: Uint8Array | string | null
  /** Names as they are sent. */
  readonly headers: Record<string, string>
  /** For the whole attempt, from connecting to the end of the body; default: the transport's. */
  readonly timeoutMs?: number | undefined
}

/**
 * Sends one request; always resolves. An aborted `signal` ends the attempt with reason `aborted`,
 * and the receiver may have received the request.
 */
export type Send = (request: AttemptRequest, signal?: AbortSignal) => Promise<Outcome>

/** Final statuses of HTTP; a response with another one is invalid (RFC 9110 §15). */
export const FINAL_STATUS = { min: 200, max: 599 } as const

interface Answered {
  readonly kind: 'answered'
  /** One of `FINAL_STATUS`; redirects are not followed. */
  readonly status: number
  /** Names in lower case; headers beyond 4 KiB are dropped. */
  readonly headers: Readonly<Record<string, string>>
  /** The first 16 KiB, as UTF-8. */
  readonly body: string
  /** Set if `body` is the whole one. */
  readonly isWhole?: true
  readonly durationMs: number
  /** The header as sent: seconds or an HTTP date; see `parseRetryAfterMs`. */
  readonly retryAfter?: string
}

/**
 * - `timeout`: no complete response within the time limit.
 * - `address`: the host name has no address, or only refused ones (§9.9): a caller cannot find out
 *   which names exist in the network of the server.
 * - `refused`, `unreachable`: no connection.
 * - `reset`: the connection ended before a response.
 * - `tls`: the receiver's certificate is not trusted, or the receiver does not use TLS.
 * - `blocked`: the address in the URL is refused (§9.9); no connection was opened.
 * - `too_large`: too many or too long headers.
 * - `protocol`: the response is not valid HTTP/1.1.
 * - `aborted`: the sender ended the attempt.
 */
export type FailureReason =
  | 'timeout'
  | 'address'
  | 'refused'
  | 'unreachable'
  | 'reset'
  | 'tls'
  | 'blocked'
  | 'too_large'
  | 'protocol'
  | 'aborted'

export interface Unanswered {
  readonly kind: 'failed'
  readonly reason: FailureReason
  /** For the delivery log, which customers read: it reveals nothing about the sender's network. */
  readonly message: string
  readonly durationMs: number
}

export type Outcome = Answered | Unanswered

export const isDelivered = (outcome: Outcome): boolean =>
  outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300

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
 * Parses `Retry-After`. `gatehook-client` has the same parser; both pass the vectors of
 * `spec/vectors/retry-after.json`.
 *
 * @returns Milliseconds to wait from `nowMs`, at least 0 and without an upper bound; undefined for
 *   text that is neither whole seconds nor an HTTP date.
 * @see RFC 9110 §10.2.3
 */
export function parseRetryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const value = text?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const atMs = httpDateMs(value)
  return atMs === undefined ? undefined : Math.max(0, atMs - nowMs)
}

/** Returns the instant of an HTTP date in epoch milliseconds; undefined for any other text. */
export function httpDateMs(text: string): number | undefined {
  if (!HTTP_DATE.test(text)) return undefined
  // The asctime format has no zone, and Date.parse would use the local one.
  const atMs = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
  return Number.isNaN(atMs) ? undefined : atMs
}
