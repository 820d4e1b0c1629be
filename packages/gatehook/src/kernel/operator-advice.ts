/**
 * The advice for operators on every failure of a request: the console displays it beside the step
 * that rejected the request. `caller-advice.ts` has the advice for callers.
 */
import type { FailureCode } from './failure.ts'

/** Operations of the console that help; it displays those that apply to the request. */
type HelpAction =
  | 'add_scope'
  | 'open_key'
  | 'open_client'
  | 'open_object'
  | 'open_customer'
  | 'open_version'
  | 'open_system'

interface OperatorAdvice {
  readonly text: string
  /** At most two, the one that solves the problem first. */
  readonly actions: readonly HelpAction[]
}

const help = (text: string, ...actions: readonly HelpAction[]): OperatorAdvice => ({
  text,
  actions,
})

const caller = (text: string): OperatorAdvice => help(`The caller must change the request: ${text}`)

/** The type requires help for every code. */
export const operatorAdvice: Readonly<Record<FailureCode, OperatorAdvice>> = {
  invalid_request: caller('its head is malformed.'),
  invalid_json: caller('its body is not valid JSON.'),
  invalid_parameter: caller('the response names the parameter.'),
  unknown_parameter: caller('the parameter is misspelled, or the version does not have it.'),
  pagination_conflict: caller('it mixes parameters of several list styles.'),
  invalid_cursor: caller('the list starts without a cursor.'),
  cursor_mismatch: caller('a cursor belongs to one list with one sort and filter.'),
  offset_too_large: caller('deep pages need the cursor style.'),
  query_too_expensive: caller('the response names a sort or filter that an index serves.'),
  page_too_large: caller('the response names a limit that fits.'),
  ambiguous_credentials: caller('it carries more than one credential.'),
  token_in_url: caller('the token belongs in a header. Revoke it: URLs are logged elsewhere.'),
  invalid_version: caller('versions are written v1, v2.'),
  unsupported_version: caller('the service does not have this version.'),
  version_required: caller('it must name a version.'),
  version_conflict: caller('it names more than one version.'),
  idempotency_key_required: caller('the route has steps, and the request no idempotency key.'),
  invalid_idempotency_key: caller('the idempotency key is malformed.'),
  customer_required: caller('sign-in names are unique per customer, and it names none.'),
  unauthorized: help('The request carries no credential. Create a key for the caller.'),
  invalid_token: help('The token is expired, revoked or of another issuer: a new one helps.'),
  invalid_client: help('The client’s id or secret is wrong. Rotate the secret.', 'open_client'),
  invalid_grant: help('The code or token was used before, is expired or revoked: sign in again.'),
  upstream_refused: help('The log of the application has the request by its `X-Request-Id`.'),
  invalid_scope: help('The client requests a scope that it does not have.', 'open_client'),
  invalid_target: caller('it names a resource that is not of this server, or not of its grant.'),
  invalid_credentials: help('Name or password is wrong. Set a new password for the person.'),
  invalid_api_key: help(
    'The message names the reason, unless the key is unknown. Create or roll a key.',
    'open_key',
  ),
  insufficient_scope: help(
    'Add the scope to the credential, or call with one that has it.',
    'add_scope',
    'open_key',
  ),
  insufficient_role: help('An administrator changes roles: gatehook operators role.'),
  credential_protected: help(
    'The row has a password: its sign-in name is changed by the person, or in the console.',
    'open_object',
  ),
  first_party_required: help(
    'The path is for persons in a first-party session: a login, or a client with first_party.',
  ),
  recent_sign_in_required: help('The caller must sign in again before it enrols a passkey.'),
  customer_suspended: help('The customer is suspended. Resume it.', 'open_customer'),
  https_required: help('The request came over plain HTTP. A proxy must forward the scheme.'),
  second_factor_required: help('The operator must send a code, or enrol a second factor.'),
  cross_site_request: help('A page of another site sent it. GATEHOOK_CORS_ORIGINS lists sites.'),
  forbidden: help('No change of the request helps: the operation is not for this caller.'),
  not_found: help('The row does not exist, is deleted, or belongs to another customer or mode.'),
  unknown_version: caller('the service does not have this version.'),
  method_not_allowed: caller('the path does not have the method.'),
  not_acceptable: caller('it accepts no media type that the service has.'),
  request_timeout: help('The request arrived too slowly: the connection of the caller is bad.'),
  conflict: help('A stored row has the same unique value.', 'open_object'),
  invalid_state: help('The row is in another state than the operation needs.', 'open_object'),
  outcome_unknown: help('Look in the application; `repeatable: true` allows another attempt.'),
  step_outcome_unknown: help(
    'Query the upstream; `gatehook jobs retry --repeat-steps` runs its step again.',
  ),
  idempotency_in_progress: help('A request with the same key still runs. A retry helps.'),
  replay_in_progress: help('Wait until the replay has finished, or stop it.'),
  rotation_in_progress: help('Wait until an overlap has ended, or rotate with force.'),
  limit_reached: help('The customer must delete one of the existing ones first.', 'open_customer'),
  clock_backwards: help('The test clock moves forward only.', 'open_system'),
  api_version_retired: help(
    'The version is retired. The caller must use a newer one.',
    'open_version',
    'open_key',
  ),
  api_version_brownout: help(
    'An announced brownout: the version works again afterwards. The caller must move on.',
    'open_version',
    'open_key',
  ),
  precondition_failed: help('The row changed after the caller had read it.', 'open_object'),
  payload_too_large: caller('its body is larger than the limit.'),
  change_too_large: caller(
    'one change writes at most 5,000 rows, events and jobs; `message` has more.',
  ),
  uri_too_long: caller('its URL is longer than the limit.'),
  unsupported_media_type: caller('the path does not accept the media type of the body.'),
  misdirected_request: help('The host is not of this service. GATEHOOK_PUBLIC_URL names it.'),
  validation_failed: caller('the marked members of the body are not valid.'),
  url_not_allowed: help('The address in the URL is not public, so no delivery can reach it.'),
  url_unreachable: help('The receiver did not respond. It must run before it is registered.'),
  notice_too_short: help('Choose a later end, or force it after a look at the callers.'),
  idempotency_key_reused: caller('the idempotency key belongs to another request.'),
  rate_limited: help(
    'The caller exceeds its limit. Raise the limit of the customer, or slow the caller down.',
    'open_customer',
    'open_key',
  ),
  headers_too_large: caller('its headers are larger or more than the limit.'),
  internal_error: help('A bug: the log of the process has it under the request id.', 'open_system'),
  upstream_failed: help('The log of the application has the request by its `X-Request-Id`.'),
  upstream_invalid: help('The log names the pointer: correct the application or `output`.'),
  upstream_unreachable: help('Start the application, or correct the URL of the upstream.'),
  upstream_timeout: help('Raise `timeoutMs`, or find out why the application is slow.'),
  request_incomplete: help(
    'An attempt failed; the engine continues: `gatehook jobs` has its error.',
  ),
  storage_unavailable: help(
    'The database could not serve the request. System and the log of the node say why.',
    'open_system',
  ),
  durability_lost: help(
    'The server has no synchronous standby, which GATEHOOK_DURABILITY=replica needs.',
    'open_system',
  ),
  overloaded: help('The node had more work than it can do. Look at load and nodes.', 'open_system'),
  shutting_down: help('The node was leaving. Another one accepts the retry.', 'open_system'),
}
