/**
 * Generates `docs/reference/errors.md` from the failure table of `kernel/failure.ts`, with the
 * advice for clients.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { type FailureCode, failures } from '../../packages/gatehook/src/kernel/failure.ts'

const SOURCE = new URL('../../packages/gatehook/src/', import.meta.url)
const TABLE = 'kernel/failure.ts'

/** The advice for each code. The type requires one for every code. */
const advice: Readonly<Record<FailureCode, string>> = {
  invalid_request: 'Correct the request line or the headers; `message` names the fault.',
  invalid_json: 'Correct the body; `errors[].pointer` locates the fault where possible.',
  invalid_parameter: 'Correct the parameter in `errors[].parameter`.',
  unknown_parameter: 'Omit the parameter, or find its spelling in the OpenAPI document.',
  pagination_conflict: 'Send the parameters of one list style, each once.',
  invalid_cursor: 'Restart the list without a cursor.',
  cursor_mismatch: 'Send the cursor to its own list, with the same sort and filters.',
  offset_too_large: 'Use the cursor style, in which every page costs the same.',
  query_too_expensive: 'Use the sort or filter that `message` names.',
  page_too_large: 'Send the smaller `limit` or `per_page` that `message` names.',
  ambiguous_credentials: 'Send one credential, in one place.',
  token_in_url: 'Move the token to the `Authorization` header, and treat it as leaked.',
  invalid_version: 'Write the version as `v1`, `v2`.',
  unsupported_version: 'Request one of the versions that `/` lists.',
  version_required: 'Name a version.',
  version_conflict: 'Name one version, in one place.',
  invalid_idempotency_key: 'Send one key of 1 to 255 visible ASCII characters, bare or quoted.',
  unauthorized: 'Send a credential; `WWW-Authenticate` lists the schemes.',
  invalid_token: 'Obtain a new token.',
  invalid_client: 'Check the client’s id and secret.',
  invalid_grant: 'Sign in again: the token or code was used before, is expired or revoked.',
  invalid_scope: 'Request scopes that the client has.',
  invalid_credentials: 'Check name and password.',
  invalid_api_key: 'Check the key, its expiry and your address; obtain another key.',
  insufficient_scope: 'Obtain the scope that `message` names.',
  first_party_required:
    'Use a token of `POST /auth/login`, Basic, or a client registered with `first_party: true`.',
  customer_suspended: 'Contact the operator.',
  https_required: 'Send the request to the same path with `https://`.',
  second_factor_required:
    'Send `code`, or enrol a second factor at `/console/session/second-factor`.',
  cross_site_request:
    'Send it from a page of this origin, or have the operator list yours in GATEHOOK_CORS_ORIGINS.',
  forbidden: 'Do not retry; no change to the request helps.',
  not_found: 'Check the path and the id. Rows out of reach are also 404.',
  unknown_version: 'Use one of the versions that `/` lists.',
  method_not_allowed: 'Use one of the methods in `Allow`.',
  not_acceptable: 'Accept `application/json`.',
  request_timeout: 'Retry; send the whole request within 30 s.',
  conflict: 'Read the stored row, then decide.',
  invalid_state: 'Read the row; `message` names the states in which the action may start.',
  idempotency_in_progress: 'Wait for `Retry-After` seconds, then retry with the same key.',
  replay_in_progress: 'Wait until it has finished, or stop it with `DELETE /webhooks/{id}/replay`.',
  rotation_in_progress: 'Wait until an overlap ends, or send `force: true` to drop the oldest.',
  limit_reached: 'Delete one of the existing ones first.',
  clock_backwards: 'Set the test clock to a later instant.',
  api_version_retired: 'Move to the version in `upgrade_url`; `documentation` links to the guide.',
  api_version_brownout: 'Wait for `Retry-After` seconds, and move to the version in `upgrade_url`.',
  precondition_failed: 'Read the row again, apply your change to it, send its new `ETag`.',
  payload_too_large: 'Send a smaller body.',
  uri_too_long: 'Shorten the URL: fewer filters, fewer values.',
  unsupported_media_type: 'Send one of the types in `Accept`, uncompressed.',
  misdirected_request: 'Send the request to the published host of the service.',
  validation_failed: 'Correct every member in `errors[].pointer`; the list is complete.',
  url_not_allowed: 'Register a URL whose host has a public address.',
  url_unreachable: 'Start the receiver, check name, port and certificate, then retry.',
  notice_too_short: 'Choose a later sunset, or send `force: true` after checking the usage.',
  idempotency_key_reused: 'Use a new key for a new request.',
  rate_limited: 'Wait for `Retry-After` seconds.',
  headers_too_large: 'Send fewer or smaller headers.',
  internal_error: 'Report `request_id`. Retry only idempotent requests.',
  storage_unavailable: 'Retry with the same idempotency key after a pause.',
  overloaded: 'Retry after `Retry-After` seconds.',
  shutting_down: 'Retry at once: another node responds.',
}

/** Returns the codes that a file of the engine uses. */
function codesInUse(): Set<string> {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== TABLE)
  const text = files.map((name) => readFileSync(new URL(name, SOURCE), 'utf8')).join('\n')
  return new Set(Object.keys(failures).filter((code) => text.includes(`'${code}'`)))
}

export function errorsPage(): string {
  const used = codesInUse()
  const rows = Object.entries(failures).map(([code, [status, sentence]]) => {
    const remark = used.has(code) ? '' : ' *(not used yet)*'
    const todo = advice[code as FailureCode]
    return `| ${status} | <a id="${code}"></a>\`${code}\`${remark} | ${sentence} | ${todo} |`
  })
  return `# Errors

This page is generated by \`npm run docs\`. Every failure has one code and one status, in one
table (\`packages/gatehook/src/kernel/failure.ts\`). Programs decide by \`error\`; \`message\` is
for people and may change. [http.md](http.md#errors) describes the form of an error.

| status | \`error\` | default message | advice |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
