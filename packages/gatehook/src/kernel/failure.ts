/**
 * The table of all failures that a response can report (§10.2). A `Failure` has a code from it;
 * `protocol/http/problem.ts` converts it to JSON. A bug is any other exception: its response is a
 * bare 500.
 */
import type { CheckCode, MistakeCode } from './mistakes.ts'

/** Every code with its status and its default message. */
export const failures = {
  invalid_request: [400, 'The request is malformed.'],
  invalid_json: [400, 'The body is not valid JSON.'],
  invalid_parameter: [400, 'A query parameter is not valid.'],
  unknown_parameter: [400, 'A query parameter is unknown.'],
  pagination_conflict: [400, 'Parameters of several pagination styles were mixed or repeated.'],
  invalid_cursor: [400, 'The cursor is not valid. Start with the first page.'],
  cursor_mismatch: [400, 'The cursor belongs to another list, sort or filter.'],
  offset_too_large: [400, 'The page lies too deep. Use the cursor style.'],
  query_too_expensive: [400, 'The list would examine too many rows. Narrow it.'],
  page_too_large: [400, 'The page is larger than a response may be. Request fewer rows.'],
  ambiguous_credentials: [400, 'More than one credential was sent. Send one.'],
  token_in_url: [400, 'Send tokens in the Authorization header, not in the URL.'],
  invalid_version: [400, 'The version is malformed. Versions are whole majors: v1, v2.'],
  unsupported_version: [400, 'This version does not exist.'],
  version_required: [400, 'The request must name a version.'],
  version_conflict: [400, 'The request names more than one version.'],
  idempotency_key_required: [400, 'This request needs an Idempotency-Key.'],
  invalid_idempotency_key: [400, 'An idempotency key is 1 to 255 visible ASCII characters.'],
  customer_required: [400, 'Name the customer in which the person signs in.'],
  upstream_refused: [400, 'The application behind this API refused the request.'],
  invalid_scope: [400, 'The scope is unknown or exceeds the grant.'],
  invalid_target: [400, 'The resource is unknown or exceeds the grant.'],
  unauthorized: [401, 'A credential is required: a key in X-API-Key or a token in Authorization.'],
  invalid_token: [401, 'The token is not valid.'],
  invalid_grant: [401, 'The token is not valid, has expired, or was used before.'],
  invalid_client: [401, 'Client authentication failed.'],
  invalid_credentials: [401, 'The user name or password is wrong.'],
  invalid_api_key: [403, 'The API key is not valid.'],
  insufficient_scope: [403, 'The credential lacks a scope.'],
  insufficient_role: [403, 'The operator lacks a role.'],
  credential_protected: [
    403,
    'A sign-in name is changed by its person at `/auth/username`, or by `admin`.',
  ],
  first_party_required: [403, 'Use a session of the person: sign in, or use a first-party client.'],
  recent_sign_in_required: [403, 'Sign in again first: the last sign-in is older than 5 minutes.'],
  customer_suspended: [403, 'This account is suspended.'],
  https_required: [403, 'Use HTTPS.'],
  forbidden: [403, 'The operation is not allowed.'],
  second_factor_required: [403, 'A code of the second factor is required.'],
  cross_site_request: [403, 'Another site sent this request. Send it from this origin.'],
  not_found: [404, 'The path or resource does not exist.'],
  unknown_version: [404, 'This version does not exist.'],
  method_not_allowed: [405, 'The method is not allowed here.'],
  not_acceptable: [406, 'None of the accepted media types can be served.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  conflict: [409, 'The request conflicts with stored data.'],
  invalid_state: [409, 'The operation is not possible in the current state.'],
  step_outcome_unknown: [409, 'The outcome of a step of the request is unknown.'],
  outcome_unknown: [409, 'Whether the request was executed is unknown. It is not repeated.'],
  idempotency_in_progress: [409, 'A request with this idempotency key is still running.'],
  rotation_in_progress: [409, 'Two older secrets are still valid.'],
  replay_in_progress: [409, 'A replay of this registration is running.'],
  limit_reached: [409, 'The limit for this kind of resource is reached.'],
  clock_backwards: [409, 'The clock only moves forward.'],
  api_version_retired: [410, 'This version is retired.'],
  api_version_brownout: [410, 'This version is disabled during an announced brownout.'],
  precondition_failed: [412, 'The resource has changed.'],
  payload_too_large: [413, 'The body is too large.'],
  change_too_large: [413, 'The change is larger than one transaction may be. Split it.'],
  uri_too_long: [414, 'The URL is too long.'],
  unsupported_media_type: [415, 'The media type of the body is not supported.'],
  misdirected_request: [421, 'This host is not served here.'],
  validation_failed: [422, 'The body failed validation.'],
  url_not_allowed: [422, 'The URL contains an address that is not allowed.'],
  url_unreachable: [422, 'The receiver could not be reached.'],
  notice_too_short: [422, 'The notice period is too short.'],
  idempotency_key_reused: [422, 'The idempotency key was used for another request.'],
  rate_limited: [429, 'Too many requests. Wait, then retry.'],
  headers_too_large: [431, 'The request headers are too large or too many.'],
  internal_error: [500, 'An internal error occurred.'],
  upstream_failed: [502, 'The application behind this API failed.'],
  upstream_invalid: [502, 'The application behind this API sent an invalid response.'],
  upstream_unreachable: [502, 'The application behind this API is unreachable. Retry later.'],
  upstream_timeout: [504, 'The application behind this API did not respond in time.'],
  request_incomplete: [503, 'The request is not finished. Repeat it with its Idempotency-Key.'],
  storage_unavailable: [503, 'The database is unavailable. Retry later.'],
  durability_lost: [503, 'The database has no synchronous replica for writes. Retry later.'],
  overloaded: [503, 'The server is overloaded. Retry later.'],
  shutting_down: [503, 'This node is shutting down. Retry the request.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type FailureCode = keyof typeof failures

/** The code of a failure that the service declares: `failure('amount_exceeds_due', …)` (§15.5). */
export type OwnCode = string & { readonly isOwnCode: true }
export type AnyCode = FailureCode | OwnCode

/** One mistake and its position: a `pointer` into the body (RFC 6901) or a query `parameter`. */
export interface FieldError {
  readonly pointer?: string
  readonly parameter?: string
  readonly code: MistakeCode | AnyCode | CheckCode
  readonly message: string
}

export interface FailureOptions {
  readonly errors?: readonly FieldError[]
  /** Response headers, for example `Allow` or `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>
  /** The status of an own code, and the default sentence about it. */
  readonly own?: { readonly status: number; readonly title: string }
  /** JSON for the member `details` of the body. */
  readonly details?: unknown
  /** The scope that the caller lacks, which the challenge names (§16.1). */
  readonly scope?: string
  /** For the log; the response does not contain it. */
  readonly detail?: unknown
}

/** The headers of a code whose failures have no others. */
const defaultHeaders: Partial<Record<FailureCode, FailureOptions['headers']>> = {
  storage_unavailable: { 'retry-after': '2' },
  durability_lost: { 'retry-after': '30' },
}

/** Returns the status and the title of a code. Throws for an unknown one. */
function rowOf(code: AnyCode): readonly [status: number, title: string] {
  if (!Object.hasOwn(failures, code)) throw new Error(`there is no code ${String(code)}`)
  return failures[code as FailureCode]
}

/** Throws for mistakes that plain JavaScript lists in another form. */
function requireEntries(errors: readonly FieldError[]): void {
  const isEntry = (error: FieldError | null) =>
    typeof error?.code === 'string' && typeof error.message === 'string'
  if (Array.isArray(errors) && errors.every(isEntry)) return
  throw new Error('errors of a Failure are entries of { pointer, code, message }')
}

/** Returns the text of a value that own code has thrown, which can be no error. */
export function describeThrown(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown)
  } catch {
    return 'a value without a text'
  }
}

/** Returns the error for a log. */
export const thrownError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(`thrown: ${describeThrown(thrown)}`)

/**
 * An error for the caller. It has no stack trace, which makes it cheap.
 *
 * @example
 * throw new Failure('rate_limited', undefined, { headers: { 'retry-after': '30' } })
 */
export class Failure extends Error {
  readonly code: AnyCode
  readonly errors: readonly FieldError[] | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly scope: string | undefined
  readonly detail: unknown
  readonly own: FailureOptions['own']
  readonly details: unknown

  constructor(code: AnyCode, message?: string, options?: FailureOptions) {
    if (options?.errors) requireEntries(options.errors)
    const sentence = String(message ?? options?.own?.title ?? rowOf(code)[1])
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(sentence)
    Error.stackTraceLimit = limit
    this.code = code
    this.errors = options?.errors
    this.headers = options?.headers ?? defaultHeaders[code as FailureCode]
    this.scope = options?.scope
    this.detail = options?.detail
    this.own = options?.own
    this.details = options?.details
  }

  get status(): number {
    return this.own?.status ?? rowOf(this.code)[0]
  }

  /** The options that a failure for the same response has. */
  get options(): FailureOptions {
    const { errors, headers, scope, own, details } = this
    return {
      ...(errors && { errors }),
      ...(headers && { headers }),
      ...(scope !== undefined && { scope }),
      ...(own && { own }),
      ...(details !== undefined && { details }),
    }
  }

  /** The meaning of the code, the same for every request. */
  get title(): string {
    return this.own?.title ?? rowOf(this.code)[1]
  }
}
