/** What a call can fail with, as one class. Who makes one is `transport.ts`. */

/**
 * One thing that is wrong: where (`pointer` into the body, RFC 6901, or query `parameter`) and
 * what.
 */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  readonly code: string
  readonly message: string
}

export interface GatehookErrorDetails {
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly errors?: readonly FieldError[] | undefined
  readonly retryAfter?: number | undefined
  readonly body?: unknown
  readonly cause?: unknown
}

/**
 * The API refused, or could not be reached.
 *
 * `code` is the API's (`not_found`, `validation_failed`, `invalid_state`, …), or one of this
 * client's: `network_error` and `timeout` (no answer; `status` 0, `cause` has the reason),
 * `unexpected_response` (an answer that is not the API's, for instance a proxy's page).
 */
export class GatehookError extends Error {
  readonly code: string
  /** HTTP status; 0 when there was no answer. */
  readonly status: number
  /** `X-Request-Id`: tell it to support. */
  readonly requestId: string | undefined
  /** The fields that are wrong; empty where the error is not about fields. */
  readonly errors: readonly FieldError[]
  /** `Retry-After`, in seconds from now. */
  readonly retryAfter: number | undefined
  /** The whole body as it came, for what else it says (`documentation`, `upgrade_url`). */
  readonly body: unknown

  constructor(code: string, message: string, details: GatehookErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'GatehookError'
    this.code = code
    this.status = details.status ?? 0
    this.requestId = details.requestId
    this.errors = details.errors ?? []
    this.retryAfter = details.retryAfter
    this.body = details.body
  }
}
