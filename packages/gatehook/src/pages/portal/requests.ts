/**
 * `/portal/api/errors` and `/portal/api/requests/{id}`: the requests of the customer in the request
 * log, without the operators' view of the pipeline. The scopes of the session decide which values
 * of a request it reads (`identity/access/stored-data.ts`).
 */
import { missingScope } from '../../identity/access/scopes.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { LoggedRequestJson } from '../../operate/monitoring/operations.ts'
import { failedRequests } from '../../operate/monitoring/request-filters.ts'
import type { RequestReader } from '../../operate/monitoring/request-reader.ts'
import { type Call, json, type Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { requireAllRows } from './authority.ts'
import { portalDataOperations as operations, type PortalRequestJson } from './data-operations.ts'

type LoggedRequest = Omit<LoggedRequestJson, 'warnings'>

/** Whether the session may read who sent the request. */
const isIdentified = ({ credential }: LoggedRequest): boolean => typeof credential?.id === 'string'

const toJson = (request: LoggedRequest): PortalRequestJson => {
  const { id, at, method, path, status, error, took_ms, credential, version, ip } = request
  const { kind, id: credentialId, name, hint } = credential ?? {}
  return {
    ...{ id, at, method, path, status, error, took_ms, version },
    ip: isIdentified(request) ? ip : null,
    credential:
      kind === undefined
        ? null
        : { kind, id: credentialId ?? null, name: name ?? null, hint: hint ?? null },
  }
}

/** Headers about the content; another one can identify the caller or its place. */
const CONTENT_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'content-type', 'content-length', 'content-encoding'],
  ...['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since'],
  ...['cache-control', 'idempotency-key', 'prefer', 'range'],
])

const withoutClient = (headers: object | null): object | null =>
  headers &&
  Object.fromEntries(Object.entries(headers).filter(([name]) => CONTENT_HEADERS.has(name)))

/** Returns the caller, whose customer and mode bound the log. Throws 403. */
const readerOf = ({ principal }: Call): Principal => {
  requireAllRows(principal!)
  return principal!
}

export const portalRequestRoutes = (requests: RequestReader): Route[] => [
  implement(operations.errors, async (call, _, query) => {
    const reader = readerOf(call)
    if (query.key_id !== undefined && !reader.scopes.has('keys:read')) {
      throw missingScope('keys:read')
    }
    const selection = { ...query, status: failedRequests }
    const { data, next_cursor, has_more } = await requests.list(reader, selection, reader)
    return respond(operations.errors, { data: data.map(toJson), next_cursor, has_more })
  }),
  implement(operations.request, async (call) => {
    const reader = readerOf(call)
    const request = await requests.find(reader, call.params.id!, reader)
    const { user_agent, warnings, event_ids, headers, body, body_truncated, answer } = request
    const isKnown = isIdentified(request)
    return json(200, {
      ...toJson(request),
      user_agent: isKnown ? user_agent : null,
      headers: isKnown ? headers : withoutClient(headers),
      ...{ warnings, event_ids, body, body_truncated, answer },
    })
  }),
]
