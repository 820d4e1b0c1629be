/**
 * The JSON of a logged request in lists, on its own and in streams, and the part of it that a
 * reader may read. Pure.
 */
import type { KeyHint } from '../../identity/access/key-reader.ts'
import type { StoredDataRights } from '../../identity/access/stored-data.ts'
import type { FailureCode } from '../../kernel/failure.ts'
import { redactUrl } from '../../kernel/log.ts'
import { operatorAdvice } from '../../kernel/operator-advice.ts'
import { redactBody, redactHeaders } from '../../kernel/redaction.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Warning } from '../../protocol/http/call.ts'
import { gatesOf, type HeadStepNames, type RequiredScope } from './gates.ts'
import type { LoggedRequestDetailJson, LoggedRequestJson } from './operations.ts'
import { instantOf } from './position.ts'
import type { ListedRequest } from './request-list.ts'
import type { RequestRecord } from './request-record.ts'

export interface GateSources {
  readonly headStepNames: HeadStepNames
  readonly requiredScope: RequiredScope
}

/** The hint of a key by its id, from the engine's database. */
export type KeyHints = ReadonlyMap<string, KeyHint>

/** For streams, which read no names. */
export const NO_HINTS: KeyHints = new Map()

const eventIdsOf = ({ event_ids: text }: ListedRequest): string[] =>
  text === null ? [] : text.split(' ')

function credentialOf(record: ListedRequest, hints: KeyHints) {
  if (record.caller_kind === null) return null
  const key = record.key_id === null ? undefined : hints.get(record.key_id)
  return {
    kind: record.caller_kind,
    id: record.key_id ?? record.client_id ?? record.caller_id,
    name: record.caller_name ?? key?.name ?? null,
    hint: key && instantOf(record.position) >= key.sinceMs ? key.hint : null,
    subject: record.caller_id ?? record.key_id ?? record.client_id,
  }
}

/** Returns a request as lists and streams have it. */
export const requestItem = (record: ListedRequest, hints: KeyHints): LoggedRequestJson => ({
  id: record.id,
  at: isoTime(instantOf(record.position)),
  method: record.method,
  path: record.path,
  route: record.route,
  status: record.status,
  error: record.error,
  took_ms: record.took_ms,
  customer: record.customer,
  mode: record.mode,
  credential: credentialOf(record, hints),
  version: record.version,
  ip: record.ip,
  object: record.object,
  events: eventIdsOf(record).length,
  warnings: record.warnings === null ? 0 : countWarnings(record.warnings),
})

const countWarnings = (text: string): number => parseWarnings(text).length

/** A long list of warnings was cut, and is no JSON. */
function parseWarnings(text: string): readonly Warning[] {
  try {
    return JSON.parse(text)
  } catch {
    return [{ type: 'truncated', message: text }]
  }
}

/** Returns a request with its gates, headers and bodies. */
export function requestDetail(
  record: RequestRecord,
  hints: KeyHints,
  { headStepNames, requiredScope }: GateSources,
  revocation: LoggedRequestDetailJson['key_revocation'],
): LoggedRequestDetailJson {
  const { headers, body, body_truncated, body_bytes, answer } =
    record.exchange === null ? NO_EXCHANGE : JSON.parse(record.exchange)
  return {
    ...requestItem(record, hints),
    user_agent: record.user_agent,
    trace_id: record.trace_id,
    event_ids: eventIdsOf(record),
    warnings: record.warnings === null ? [] : parseWarnings(record.warnings),
    gates: gatesOf(record, headStepNames, requiredScope),
    help: record.error === null ? null : helpOf(record.error, record.cause),
    key_revocation: revocation,
    /** Null unless the request failed and `GATEHOOK_REQUEST_LOG_BODIES` is `errors`. */
    headers: headers ?? null,
    body: body ?? null,
    body_bytes: body_bytes ?? null,
    body_truncated: body_truncated ?? false,
    answer: answer ?? null,
  }
}

/** A code of a later release has no help. */
function helpOf(code: string, cause: string | null): LoggedRequestDetailJson['help'] {
  const advice = operatorAdvice[code as FailureCode]
  return advice ? { ...advice, text: cause ?? advice.text } : null
}

const NO_EXCHANGE: Readonly<Record<string, undefined>> = {}

/** Returns a request without what the reader may not read. */
export function readableItem<R extends Omit<LoggedRequestJson, 'warnings'>>(
  request: R,
  rights: StoredDataRights,
): R {
  const { method, route, path, object, credential } = request
  const isReadable = rights.mayRead(method, route)
  const isIdentified = credential === null || rights.mayIdentify(credential.kind)
  return {
    ...request,
    path: isReadable ? redactUrl(path, rights.hiddenFields) : withoutValues(path, route),
    object: isReadable ? object : null,
    credential: isIdentified
      ? credential
      : { kind: credential.kind, id: null, name: null, hint: null, subject: null },
  }
}

/**
 * Returns the template of a path; of an unknown one, its first name. Later segments may be values,
 * which no scope of a customer reads.
 */
function withoutValues(path: string, route: string): string {
  if (route.startsWith('/')) return route
  const segments = path.split('?', 1)[0]!.split('/')
  const [, first, version = ''] = segments
  const names = first !== 'api' ? 2 : /^v\d{1,9}$/.test(version) ? 4 : 3
  const start = segments.slice(0, names).join('/')
  return segments.length > names ? `${start}/…` : start
}

/** Returns a request with headers and bodies, without what the reader may not read. */
export function readableDetail(
  request: LoggedRequestDetailJson,
  rights: StoredDataRights,
): LoggedRequestDetailJson {
  const item = readableItem(request, rights)
  const event_ids = rights.readsEvents ? item.event_ids : []
  if (!rights.mayRead(request.method, request.route)) {
    return { ...item, event_ids, headers: null, body: null, body_bytes: null, answer: null }
  }
  const { hiddenFields } = rights
  if (hiddenFields.size === 0) return { ...item, event_ids }
  const answer = item.answer as StoredAnswer | null
  return {
    ...item,
    event_ids,
    headers: item.headers && redactHeaders(item.headers as StoredHeaders, hiddenFields),
    body: redactBody(item.body, hiddenFields).value,
    answer: answer && {
      headers: redactHeaders(answer.headers, hiddenFields),
      body: redactBody(answer.body, hiddenFields, true).value,
    },
  }
}

type StoredHeaders = Readonly<Record<string, unknown>>

interface StoredAnswer {
  readonly headers: StoredHeaders
  readonly body?: unknown
}
