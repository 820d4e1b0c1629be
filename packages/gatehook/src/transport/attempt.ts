/**
 * One attempt: what is sent and what came of it, as data (§9.5, §9.6). Pure words; the sockets are
 * in `transport.ts`, and what an outcome means for the delivery is the engine's.
 */

export interface AttemptRequest {
  /** `http:` or `https:`; judged anew on every attempt. */
  readonly url: string
  /** The bytes that were signed. */
  readonly body: Uint8Array | string
  /** Names as they go on the wire. */
  readonly headers: Record<string, string>
  /** For the whole attempt, connecting and the answer's body included; default the transport's. */
  readonly timeoutMs?: number | undefined
}

/**
 * Sends once and always resolves. An aborted `signal` ends it with reason `aborted`: whether the
 * receiver has got it, nobody knows.
 */
export type Send = (request: AttemptRequest, signal?: AbortSignal) => Promise<Outcome>

export interface Answered {
  readonly kind: 'answered'
  /** 200 to 599; redirects are not followed. */
  readonly status: number
  /** Names in lower case; the first ones where there are many. */
  readonly headers: Readonly<Record<string, string>>
  /** The first 16 KiB, as UTF-8. */
  readonly body: string
  readonly durationMs: number
  /** As the receiver wrote it: seconds or an HTTP date; see `retryAfterMs`. */
  readonly retryAfter?: string
}

/**
 * - `timeout`: no whole answer within the time, wherever it was lost.
 * - `dns`: the host has no address.
 * - `refused`, `unreachable`: no connection.
 * - `reset`: the connection ended before an answer.
 * - `tls`: no trust in the receiver's certificate, or no TLS there.
 * - `blocked`: the address is one we do not dial (§9.9); no connection was made.
 * - `too_large`: more or longer headers than are read.
 * - `protocol`: not HTTP/1.1 as it is written.
 * - `aborted`: we ended it ourselves.
 */
export type FailureReason =
  | 'timeout'
  | 'dns'
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
  /** For the delivery log: coarse, so that it tells nothing of the network we stand in. */
  readonly message: string
  readonly durationMs: number
}

export type Outcome = Answered | Unanswered

export const isDelivered = (outcome: Outcome): boolean =>
  outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300

/**
 * How long a `Retry-After` asks to wait from `nowMs`, in milliseconds, never below 0; undefined
 * when it is neither whole seconds nor an HTTP date (RFC 9110 §10.2.3). The bound is the caller's.
 */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const value = text?.trim() ?? ''
  if (/^\d+$/.test(value)) return Number(value) * 1000
  // Date.parse takes much that is no HTTP date, `2` and `May` among it.
  if (!/^[A-Z][a-z]{2,8},? .*(GMT|\d{4})$/.test(value)) return undefined
  // The form of asctime names no zone; to Date.parse it would be ours.
  const atMs = Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs)
}
