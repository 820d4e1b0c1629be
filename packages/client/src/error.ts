/** The error of every method of a client. `transport.ts` creates it. */

/** An invalid field: its `pointer` into the body (RFC 6901) or query `parameter`, and why. */
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
  readonly details?: unknown
  readonly body?: unknown
  readonly cause?: unknown
}

/**
 * The API rejected a request, or did not respond.
 *
 * `code` is the API's (`not_found`, `validation_failed`, `invalid_state`, …), or one of this
 * client's: `network_error` and `timeout` (no response; `status` 0, `cause` has the reason),
 * `unexpected_response` (not a response of the API, for instance a proxy's page).
 */
export class GatehookError extends Error {
  readonly code: string
  /** HTTP status; 0 without a response. */
  readonly status: number
  /** `X-Request-Id`, for support requests. */
  readonly requestId: string | undefined
  /** The invalid fields; empty for other errors. */
  readonly errors: readonly FieldError[]
  /** `Retry-After`, in seconds from the response. */
  readonly retryAfter: number | undefined
  /** `details` of a failure that the service declares: `{ due: 1200 }`. */
  readonly details: unknown
  /** The unchanged body, with further members (`documentation`, `upgrade_url`). */
  readonly body: unknown

  constructor(code: string, message: string, details: GatehookErrorDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'GatehookError'
    this.code = code
    this.status = details.status ?? 0
    this.requestId = details.requestId
    this.errors = details.errors ?? []
    this.retryAfter = details.retryAfter
    this.details = details.details
    this.body = details.body
  }
}
