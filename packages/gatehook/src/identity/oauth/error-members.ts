/** The bodies of the errors of OAuth endpoints, as documents describe them. */
import { b } from '../../protocol/fields/members.ts'

/** The codes of token endpoints (RFC 6749 §5.2); failures before the endpoint have the API's. */
const TOKEN_ERRORS = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
] as const

/** The codes of RFC 7591 §3.2.2, and of RFC 6750 §3.1 for the key that registers. */
const REGISTRATION_ERRORS = [
  'invalid_redirect_uri',
  'invalid_client_metadata',
  'invalid_token',
  'insufficient_scope',
  'invalid_request',
] as const

const errorOf = (codes: readonly string[], error: string, error_description: string) =>
  b
    .object({
      error: b.openSet(codes),
      error_description: b.text().describe('A sentence for people.').example(error_description),
      request_id: b.text().optional(),
    })
    .example({ error, error_description })

export const oauthError = errorOf(
  TOKEN_ERRORS,
  'invalid_grant',
  'The code is wrong, expired or used.',
).named('OauthError')

export const registrationError = errorOf(
  REGISTRATION_ERRORS,
  'invalid_redirect_uri',
  'redirect_uris has no URI that can be registered',
).named('RegistrationError')
