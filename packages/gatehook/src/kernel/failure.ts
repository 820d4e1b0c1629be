/**
 * The failures a caller can be told, in one table (decisions §10.2). A `Failure` carries a code
 * from it; `http/problem.ts` turns it into JSON. Bugs are not here: they are thrown as they are and
 * answered with a bare 500.
 */

/** Every code, its status and the sentence a caller reads where nobody has a better one. */
export const failures = {
  invalid_request: [400, 'The request is not well formed.'],
  invalid_json: [400, 'The body is not valid JSON.'],
  invalid_parameter: [400, 'A query parameter is not valid.'],
  unknown_parameter: [400, 'A query parameter is not known here.'],
  pagination_conflict: [400, 'Parameters of several pagination styles were mixed or repeated.'],
  invalid_cursor: [400, 'The cursor is not one of ours. Start again without it.'],
  cursor_mismatch: [400, 'The cursor belongs to another list, sort or filter.'],
  offset_too_large: [400, 'The page lies too deep. Use the cursor style.'],
  query_too_expensive: [400, 'The list would examine too many rows. Narrow it.'],
  page_too_large: [400, 'The page is larger than a response may be. Request fewer rows.'],
  ambiguous_credentials: [400, 'More than one credential was sent. Send one.'],
  token_in_url: [400, 'Tokens are never sent in a URL. Use the Authorization header.'],
  invalid_version: [400, 'This is not a version. Versions are whole majors: v1, v2.'],
  unsupported_version: [400, 'This version does not exist.'],
  version_required: [400, 'Say which version you mean.'],
  version_conflict: [400, 'The request names more than one version.'],
  invalid_idempotency_key: [400, 'An idempotency key is 1 to 255 visible ASCII characters.'],
  invalid_scope: [400, 'The scope is unknown, or more than was granted.'],
  unauthorized: [401, 'A credential is required.'],
  invalid_token: [401, 'The token is not valid.'],
  invalid_grant: [401, 'The token is not valid, has expired, or was used before.'],
  invalid_client: [401, 'The client has to prove who it is.'],
  invalid_credentials: [401, 'The user name or password is wrong.'],
  invalid_api_key: [403, 'The API key is not valid.'],
  insufficient_scope: [403, 'The credential lacks a scope.'],
  first_party_required: [403, 'Use a session of the person: sign in, or use a first-party client.'],
  customer_suspended: [403, 'This account is suspended.'],
  https_required: [403, 'Use HTTPS.'],
  forbidden: [403, 'This is not allowed.'],
  second_factor_required: [403, 'A code of the second factor is required.'],
  cross_site_request: [403, 'Another site sent this request. Send it from this origin.'],
  not_found: [404, 'There is nothing here.'],
  unknown_version: [404, 'This version does not exist.'],
  method_not_allowed: [405, 'The method is not allowed here.'],
  not_acceptable: [406, 'None of the accepted media types can be served.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  conflict: [409, 'The request conflicts with what is stored.'],
  invalid_state: [409, 'The action is not possible in the present state.'],
  idempotency_in_progress: [409, 'A request with this idempotency key is still running.'],
  rotation_in_progress: [409, 'Two older secrets are still good.'],
  replay_in_progress: [409, 'A replay of this registration is running.'],
  limit_reached: [409, 'The limit for this kind of thing is reached.'],
  clock_backwards: [409, 'The clock only moves forward.'],
  api_version_retired: [410, 'This version is retired.'],
  api_version_brownout: [410, 'This version is switched off for a while, as announced.'],
  precondition_failed: [412, 'The resource has changed.'],
  payload_too_large: [413, 'The body is too large.'],
  uri_too_long: [414, 'The URL is too long.'],
  unsupported_media_type: [415, 'The body is of a media type that is not read here.'],
  misdirected_request: [421, 'This host is not served here.'],
  validation_failed: [422, 'The body does not fit.'],
  url_not_allowed: [422, 'The URL leads to an address we do not call.'],
  url_unreachable: [422, 'The receiver could not be reached.'],
  notice_too_short: [422, 'Callers would get too little notice.'],
  idempotency_key_reused: [422, 'The idempotency key was used for another request.'],
  rate_limited: [429, 'Too many requests. Wait and try again.'],
  headers_too_large: [431, 'The request headers are too large.'],
  internal_error: [500, 'Something went wrong on our side.'],
  storage_unavailable: [503, 'The service cannot store or read right now. Try again.'],
  overloaded: [503, 'Too much is asked at this moment. Try again.'],
  shutting_down: [503, 'This node is shutting down. Try again.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type FailureCode = keyof typeof failures

/** What is wrong and where: `pointer` into the body (RFC 6901), or query `parameter`. */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  readonly code: string
  readonly message: string
}

export interface FailureOptions {
  readonly errors?: readonly FieldError[]
  /** Response headers, for example `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** For the log only; never sent. */
  readonly detail?: unknown
}

/** Thrown wherever the caller has to be told. Costs no stack trace: it is an answer, not a bug. */
export class Failure extends Error {
  readonly code: FailureCode
  readonly errors: readonly FieldError[] | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly detail: unknown

  constructor(code: FailureCode, message?: string, options?: FailureOptions) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(message ?? failures[code][1])
    Error.stackTraceLimit = limit
    this.code = code
    this.errors = options?.errors
    this.headers = options?.headers
    this.detail = options?.detail
  }

  get status(): number {
    return failures[this.code][0]
  }
}
