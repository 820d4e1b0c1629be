/**
 * The states of a delivery, and the record of an attempt. A delivery is one event to one
 * registration; an attempt is one POST of it. No SQL, no sockets.
 */
import { isoTime } from '../../kernel/time.ts'
import { isDelivered, type Outcome } from '../transport/attempt.ts'

/** As stored; `paused` is computed, so that a change of `active` updates one row. */
/** The states of a delivery for the API: a pending one of an inactive registration is paused. */
export const DELIVERY_STATES = ['pending', 'delivered', 'failed', 'exhausted', 'paused'] as const

export type StoredState = 'pending' | 'delivered' | 'failed' | 'exhausted'
/** As returned by the API (§9.10). */
export type DeliveryState = StoredState | 'paused'

/**
 * The column `attempt` is `round base × ROUND + attempts in this round`. A resend starts a round
 * with a whole schedule; `ROUND` exceeds the attempts of a schedule.
 */
const ROUND = 1_000

/** Splits the column `attempt`: `inRound` for the schedule, `n` for the log and the wire. */
export const attemptCounts = (attempt: number) => {
  const inRound = attempt % ROUND
  return { inRound, n: Math.floor(attempt / ROUND) + inRound }
}

/** SQL: the column `attempt` at the start of another round. */
export const NEXT_ROUND = `(gh_deliveries.attempt / ${ROUND} + gh_deliveries.attempt % ${ROUND})
  * ${ROUND}`

/** Returns the state for the API: a pending delivery depends on its registration. */
export function deliveryState(
  state: StoredState,
  registration: { readonly active: number; readonly deleted_at: number | null } | undefined,
): DeliveryState {
  if (state !== 'pending') return state
  if (!registration || registration.deleted_at !== null) return 'failed'
  return registration.active === 1 ? 'pending' : 'paused'
}

/** An attempt as the API returns it (§9.10). */
export interface AttemptRecord {
  readonly n: number
  /** ISO 8601. */
  readonly at: string
  /** The status of the response; null without a response. */
  readonly status: number | null
  readonly duration_ms: number
  readonly error: string | null
  readonly response_headers: Readonly<Record<string, string>> | null
  readonly response_body: string | null
}

type AttemptColumns = [
  n: number,
  at: number,
  durationMs: number,
  error: string | null,
  url: string,
  status?: number,
  headers?: Readonly<Record<string, string>>,
  body?: string,
]

/** Bytes of the largest attempt in the column `attempts`: control characters have six in JSON. */
export const ATTEMPT_BYTES_MAX = 32_768
/** Bytes of the column: the first attempt, and the newest ones that fit. */
export const ATTEMPTS_BYTES_MAX = 4 * ATTEMPT_BYTES_MAX
/** Rows with attempts that one statement reads: 1 MiB. */
export const ATTEMPTS_READ_ROWS = 1_048_576 / ATTEMPTS_BYTES_MAX

/**
 * Encodes an attempt for the column `attempts`: a JSON array, without names. A row that grows has
 * to move in its table, so each character counts. Shortens the body to `ATTEMPT_BYTES_MAX`.
 */
export function encodeAttempt(
  { n, at, url }: { readonly n: number; readonly at: number; readonly url: string },
  outcome: Outcome,
): string {
  const columns: AttemptColumns = [n, at, Math.round(outcome.durationMs), errorOf(outcome), url]
  if (outcome.kind === 'failed') return JSON.stringify(columns)
  const { status, headers, body } = outcome
  columns.push(status, headers, body)
  const text = JSON.stringify(columns)
  const excessBytes = Buffer.byteLength(text) - ATTEMPT_BYTES_MAX
  if (excessBytes <= 0) return text
  columns[BODY_AT] = shortenBody(body, jsonBytes(body) - excessBytes)
  return JSON.stringify(columns)
}

/** The position of the body in an encoded attempt. */
const BODY_AT = 7

const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text))

/** Returns the start of a text whose JSON has at most so many bytes. */
function shortenBody(body: string, maxBytes: number): string {
  let text = body
  for (let bytes = jsonBytes(text); bytes > maxBytes && text !== ''; bytes = jsonBytes(text)) {
    const length = Math.floor((text.length * Math.max(0, maxBytes)) / bytes)
    text = text.slice(0, length).replace(/[\ud800-\udbff]$/, '') // half of a character
  }
  return text
}

/** The codes of `gatehook-receiver` and of the receivers of the docs, and what to do about each. */
const RECEIVER_CODES: Readonly<Record<string, string>> = {
  no_secret: 'it has no secret yet; restart it with that of the registration',
  missing_signature: 'it got no signature header; find the proxy that removes it',
  malformed_signature: 'it got a changed signature header; find the proxy that changes it',
  timestamp_outside_window:
    'its clock and that of the service differ; synchronize both, or stop the test clock',
  signature_mismatch: 'it may have another secret than the registration',
  invalid_event: 'it accepts the signature and expects another body; update gatehook-receiver',
  payload_too_large: 'it limits bodies to less than this event; increase maxBodyBytes to 256 KiB',
  handler_failed: 'its onEvent or its store failed; its log has the cause',
  body_unreadable: 'a body parser runs before it; receive the raw body',
  method_not_allowed: 'a proxy changed the method; forward POST',
}

/** Returns the code of `{"error":"…"}`, the body of gatehook-receiver. Linear. */
function receiverCode(body: string): string {
  const start = body.startsWith('{"error":') ? body.indexOf('"', 9) + 1 : 0
  const end = start > 0 ? body.indexOf('"', start) : -1
  return end > 0 ? body.slice(start, end) : ''
}

function errorOf(outcome: Outcome): string | null {
  if (outcome.kind === 'failed') return `${outcome.reason}: ${outcome.message}`
  if (isDelivered(outcome)) return null
  const { status, body } = outcome
  const answer = `the receiver answered ${status}`
  const code = receiverCode(body)
  return Object.hasOwn(RECEIVER_CODES, code)
    ? `${answer}; ${code}: ${RECEIVER_CODES[code]}`
    : answer
}

/** Decodes the column `attempts`: encoded attempts, separated by commas. */
export const decodeAttempts = (stored: string | null): AttemptRecord[] =>
  stored === null ? [] : (JSON.parse(`[${stored}]`) as AttemptColumns[]).map(recordOf)

/** Decodes the URL of each attempt: that of the registration may have changed since. */
export const decodeAttemptUrls = (stored: string | null): string[] =>
  stored === null
    ? []
    : (JSON.parse(`[${stored}]`) as AttemptColumns[]).map((columns) => columns[4])

const recordOf = ([
  n,
  at,
  duration_ms,
  error,
  _url,
  status,
  headers,
  body,
]: AttemptColumns): AttemptRecord => ({
  n,
  at: isoTime(at),
  status: status ?? null,
  duration_ms,
  error,
  response_headers: headers ?? null,
  response_body: body ?? null,
})
