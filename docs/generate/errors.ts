/**
 * `docs/reference/errors.md`: the failure table of `kernel/failure.ts`, with what a client does
 * about each.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { type FailureCode, failures } from '../../packages/gatehook/src/kernel/failure.ts'

const SOURCE = new URL('../../packages/gatehook/src/', import.meta.url)
const TABLE = 'kernel/failure.ts'

/** What a client does; the type refuses a code without one. */
const advice: Readonly<Record<FailureCode, string>> = {
  invalid_request: 'Mend the request line or its headers; `message` says what is wrong.',
  invalid_json: 'Mend the body; `errors[].pointer` says where, if it can be said.',
  invalid_parameter: 'Mend the parameter named in `errors[].parameter`.',
  unknown_parameter: 'Leave the parameter out, or look for its spelling in the OpenAPI document.',
  pagination_conflict: 'Send the parameters of one list style, each once.',
  invalid_cursor: 'Start the walk again without a cursor.',
  cursor_mismatch: 'Send the sort and the filters the cursor was made with, to the same list.',
  offset_too_large: 'Walk with cursors; every page costs the same there.',
  query_too_expensive: 'Send the request again with the sort or filter that `message` names.',
  page_too_large: 'Send a smaller `limit` or `per_page`; `message` says which one fits.',
  ambiguous_credentials: 'Send one credential, in one place.',
  token_in_url: 'Move the token to the `Authorization` header, and treat it as leaked.',
  invalid_version: 'Write the version as `v1`, `v2`.',
  unsupported_version: 'Ask for one of the versions that `/` lists.',
  version_required: 'Name a version.',
  version_conflict: 'Name one version, in one place.',
  invalid_idempotency_key: 'Send one key of 1 to 255 visible ASCII characters, bare or quoted.',
  unauthorized: 'Send a credential; `WWW-Authenticate` lists the schemes.',
  invalid_token: 'Get a new token.',
  invalid_client: 'Check the client’s id and secret.',
  invalid_grant: 'Sign in again: the token or code is used up, expired or revoked.',
  invalid_scope: 'Ask for scopes the client has.',
  invalid_credentials: 'Check name and password.',
  invalid_api_key: 'Check the key, its expiry and the address you call from; ask for another.',
  insufficient_scope: 'Ask for the scope that `message` names.',
  first_party_required:
    'Use a token of `POST /auth/login`, Basic, or a client registered with `first_party: true`.',
  customer_suspended: 'Talk to the operator.',
  https_required: 'Call the same path by `https://`.',
  second_factor_required:
    'Send `code`, or enrol a second factor at `/console/session/second-factor`.',
  cross_site_request:
    'Send it from a page of this origin, or have the operator list yours in GATEHOOK_CORS_ORIGINS.',
  forbidden: 'Do not repeat it; nothing about the request can be mended.',
  not_found: 'Check the path and the id. Rows of others look like this too.',
  unknown_version: 'Take one of the versions that `/` lists.',
  method_not_allowed: 'Take one of the methods in `Allow`.',
  not_acceptable: 'Accept `application/json`.',
  request_timeout: 'Send the request again, faster.',
  conflict: 'Read what is stored, decide anew.',
  invalid_state: 'Read the row; `message` names the states the action starts from.',
  idempotency_in_progress: 'Wait as `Retry-After` says and repeat with the same key.',
  replay_in_progress: 'Wait until it has finished, or stop it with `DELETE /webhooks/{id}/replay`.',
  rotation_in_progress: 'Wait until an overlap ends, or send `force: true` to drop the oldest.',
  limit_reached: 'Delete one of the things first.',
  clock_backwards: 'Set the test clock to a later instant.',
  api_version_retired: 'Move to the version `upgrade_url` names; `documentation` says how.',
  api_version_brownout: 'Wait as `Retry-After` says, and move to the version `upgrade_url` names.',
  precondition_failed: 'Read the row again, apply your change to it, send its new `ETag`.',
  payload_too_large: 'Send less.',
  uri_too_long: 'Shorten the URL: fewer filters, fewer values.',
  unsupported_media_type: 'Send one of the types in `Accept`, uncompressed.',
  misdirected_request: 'Call the host the service is published under.',
  validation_failed: 'Mend every member that `errors[].pointer` names; all are told at once.',
  url_not_allowed: 'Register a URL whose host has a public address.',
  url_unreachable: 'Start the receiver, check name, port and certificate, and repeat.',
  notice_too_short: 'Choose a later sunset, or send `force: true` knowing who still calls.',
  idempotency_key_reused: 'Take a fresh key for a new request.',
  rate_limited: 'Wait as `Retry-After` says.',
  headers_too_large: 'Send fewer or smaller headers.',
  internal_error: 'Report `request_id`. Repeat only what is safe to repeat.',
  storage_unavailable: 'Repeat with the same idempotency key after a pause.',
  overloaded: 'Repeat after the seconds in `Retry-After`.',
  shutting_down: 'Repeat at once: another node answers.',
}

/** Codes that some file throws or answers with. */
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
    const later = used.has(code) ? '' : ' *(nothing answers so yet)*'
    const todo = advice[code as FailureCode]
    return `| ${status} | <a id="${code}"></a>\`${code}\`${later} | ${sentence} | ${todo} |`
  })
  return `# Errors

This page is generated: \`npm run docs\`. Every failure a caller can be told has one code,
in one table (\`packages/gatehook/src/kernel/failure.ts\`), and one status.
Decide by \`error\`; \`message\` is for people and may
change. How an error looks on the wire: [http.md](http.md#errors).

| status | \`error\` | sentence, where no better one is known | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
