/**
 * The errors of OAuth endpoints, with the codes of RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, and
 * OpenID Connect Core §3.1.2.6, RFC 8628 §3.5. Pure.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Answer } from '../../protocol/http/call.ts'

/** Each error code with the status of its JSON response. */
const STATUS_BY_CODE = {
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  invalid_target: 400,
  invalid_client_metadata: 400,
  invalid_redirect_uri: 400,
  unsupported_response_type: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  access_denied: 400,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  login_required: 400,
  consent_required: 400,
  invalid_token: 401,
  insufficient_scope: 403,
} as const satisfies Record<string, number>

export type OauthErrorCode = keyof typeof STATUS_BY_CODE

/**
 * An error of an OAuth endpoint. The endpoint returns it as JSON, by a redirect, or as a page. It
 * captures no stack trace, because it is a response and not a bug.
 */
export class OauthError extends Error {
  readonly code: OauthErrorCode
  readonly headers: Readonly<Record<string, string>>

  constructor(code: OauthErrorCode, description: string, headers: Record<string, string> = {}) {
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(description)
    Error.stackTraceLimit = limit
    this.code = code
    this.headers = headers
  }
}

/** The headers of all responses of token endpoints (RFC 6749 §5.1). */
export const NO_STORE = { 'cache-control': 'no-store', pragma: 'no-cache' } as const

/** Failures of the module `identity/tokens/` that have a code in RFC 6749 §5.2. */
const OAUTH_FAILURES: ReadonlySet<string> = new Set([
  'invalid_grant',
  'invalid_client',
  'invalid_scope',
  'invalid_target',
])

/** Runs a handler and returns an `OauthError` as the JSON of RFC 6749 §5.2. */
export async function respondWithErrors(handle: () => Promise<Answer>): Promise<Answer> {
  try {
    return await handle()
  } catch (error) {
    return toJson(asOauthError(error))
  }
}

/** Returns the `OauthError` of an exception; throws any other exception again. */
export function asOauthError(error: unknown): OauthError {
  if (error instanceof OauthError) return error
  if (!(error instanceof Failure) || !OAUTH_FAILURES.has(error.code)) throw error
  return new OauthError(error.code as OauthErrorCode, error.message)
}

const toJson = ({ code, message, headers }: OauthError): Answer => ({
  status: STATUS_BY_CODE[code],
  json: JSON.stringify({ error: code, error_description: message }),
  headers: { ...NO_STORE, ...headers },
})
