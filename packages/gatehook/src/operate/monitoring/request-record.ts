/**
 * Describes a served request as the record that the request log stores. Contains no secret: URL,
 * headers and bodies are redacted here. Pure.
 */

import { redactUrl } from '../../kernel/log.ts'
import type { Principal } from '../../kernel/principal.ts'
import { redactBody, redactHeaders } from '../../kernel/redaction.ts'
import { parseTraceparent } from '../../kernel/tracing.ts'
import type { Database } from '../../platform/storage/database.ts'
import { durabilityFaultIn } from '../../platform/storage/durability-errors.ts'
import { DURABILITY_LOST, durabilityFaults } from '../../platform/storage/server-check.ts'
import {
  describeStorageFailure,
  describeUnknownError,
} from '../../platform/storage/storage-failure.ts'
import { ERRORS_MAX } from '../../protocol/fields/object-reader.ts'
import { NAME_CHARACTERS_MAX } from '../../protocol/fields/reading.ts'
import type { Answer, Call, Kind } from '../../protocol/http/call.ts'
import type { Exchange } from '../../protocol/http/exchange.ts'
import { MediaBody } from '../../protocol/http/media-body.ts'

/** A row of `gh_monitoring_requests`. */
export interface RequestRecord {
  readonly position: number
  readonly id: string
  readonly method: string
  readonly path: string
  readonly route: string
  readonly kind: Kind
  /** The stage that the request reached (`protocol/http/exchange.ts`). */
  readonly stage: number
  /** Null if the connection ended before the response. */
  readonly status: number | null
  readonly error: string | null
  readonly took_ms: number
  readonly customer: string | null
  readonly mode: string | null
  readonly caller_kind: string | null
  /** The caller unless it is the key or the client. */
  readonly caller_id: string | null
  readonly caller_name: string | null
  readonly key_id: string | null
  readonly client_id: string | null
  readonly version: string | null
  readonly ip: string
  readonly user_agent: string | null
  /** Collection and id of the row that the request concerns: `orders/4187`. */
  readonly object: string | null
  /** Ids of the events that the request caused, with spaces between them. */
  readonly event_ids: string | null
  /** JSON of the warnings. */
  readonly warnings: string | null
  readonly trace_id: string | null
  /** Why the database failed the request, for operators; null for any other failure. */
  readonly cause: string | null
  /** JSON of headers and bodies; errors only. */
  readonly exchange: string | null
}

export interface RecordOptions {
  /** Whether headers and bodies of errors are recorded. */
  readonly recordsBodies: boolean
  /** Names of fields and members that are declared secret. */
  readonly secretFields: ReadonlySet<string>
  /** The engine's database, which knows whether and how its primary is away. */
  readonly db: Pick<Database, 'fault'>
  /** The declared kinds of columns, by `orders.amount`. */
  readonly declaredKinds: ReadonlyMap<string, string>
}

const PATH_CHARACTERS = 1024
const USER_AGENT_CHARACTERS = 256
const WARNINGS_CHARACTERS = 1024
/** An index has it, whose entries PostgreSQL limits. */
const OBJECT_CHARACTERS = 128
/** Paths whose bodies and headers are never recorded. */
const PRIVATE_PATH = /^\/(?:auth|oauth|console|keys)(?:\/|$)/
/** Whether a response counts as an error: 4xx, 5xx, or none because the connection ended. */
export const isError = (answer: Answer | undefined): boolean => !answer || answer.status >= 400

/** Statuses of a request that anyone can send in any number. */
const STRANGER_STATUSES: ReadonlySet<number> = new Set([401, 403, 429])

/** Whether an unidentified client got 401, 403 or 429: the log then stores its line only. */
export const isOfStranger = (call: Call, answer: Answer | undefined): boolean =>
  answer !== undefined && STRANGER_STATUSES.has(answer.status) && callerOf(call) === undefined

/** Returns the caller of a request as far as it was identified. */
export const callerOf = (call: Call): Partial<Principal> | undefined =>
  call.principal ?? call.recognized ?? call.identified

export function describeRequest(
  exchange: Exchange,
  answer: Answer | undefined,
  { ms, position }: { readonly ms: number; readonly position: number },
  options: RecordOptions,
): RequestRecord {
  const caller = callerOf(exchange)
  const { headers, warnings } = exchange
  const userAgent = headers['user-agent']
  return {
    position,
    id: exchange.id,
    method: exchange.method,
    path: textOf(redactUrl(exchange.head.url, options.secretFields), PATH_CHARACTERS),
    route: exchange.route,
    kind: exchange.kind,
    stage: exchange.stage,
    status: answer?.status ?? null,
    error: exchange.failure ?? null,
    took_ms: ms,
    customer: caller?.customer ?? null,
    mode: caller?.mode ?? null,
    caller_kind: caller?.kind ?? null,
    caller_id: personOf(caller),
    caller_name: caller?.name ?? null,
    key_id: caller?.keyId ?? null,
    client_id: caller?.clientId ?? null,
    version: exchange.version ?? null,
    ip: exchange.address,
    user_agent:
      userAgent === undefined ? null : textOf(redactUrl(userAgent), USER_AGENT_CHARACTERS),
    object: objectOf(exchange, answer, options),
    event_ids: exchange.eventIds.length === 0 ? null : eventIdsOf(exchange),
    warnings: warnings.length === 0 ? null : textOf(JSON.stringify(warnings), WARNINGS_CHARACTERS),
    trace_id: exchange.span?.traceId ?? parseTraceparent(headers.traceparent)?.traceId ?? null,
    cause: causeOf(exchange, options),
    exchange: describeExchange(exchange, answer, options),
  }
}

/** Returns why the database failed a request; null for any other failure. */
export function causeOf(
  { failure, detail, bug }: Exchange,
  { db, declaredKinds }: Pick<RecordOptions, 'db' | 'declaredKinds'>,
): string | null {
  if (failure === 'durability_lost') {
    const fault = durabilityFaultIn(detail)
    return fault === 'lost' ? DURABILITY_LOST : durabilityFaults[fault].advice
  }
  if (failure === 'internal_error') return describeUnknownError(bug, declaredKinds) ?? null
  if (failure !== 'storage_unavailable') return null
  return describeStorageFailure(detail, db.fault()) ?? null
}

/** A request can cause any number of events; the record names the first. */
const EVENT_IDS_MAX = 20
const eventIdsOf = ({ eventIds }: Call): string => eventIds.slice(0, EVENT_IDS_MAX).join(' ')

const personOf = (caller: Partial<Principal> | undefined): string | null => {
  const { subject = null, keyId, clientId } = caller ?? {}
  return subject === keyId || subject === clientId ? null : subject
}

/** Bounds a text from the request, without parts of characters, which databases reject. */
const textOf = (text: string, maxCharacters: number): string =>
  (text.length > maxCharacters ? text.slice(0, maxCharacters) : text)
    .toWellFormed()
    .replaceAll('\0', '')

/** A route of rows: the public one, or that of an operator who acts for a customer. */
const ROW_ROUTE = /^(?:\/admin\/as\/:customer\/:mode)?\/api\/([^/]+)(\/.+)?$/

/**
 * Returns the row that a request named or created; null for a read that succeeded: reads are many,
 * and an index in the order of ids would cost more than the rest of a record.
 */
function objectOf(
  { route, params, kind, method }: Call,
  answer: Answer | undefined,
  { secretFields }: RecordOptions,
): string | null {
  if (kind !== 'api' && kind !== 'admin') return null
  if (method === 'GET' && !isError(answer)) return null
  const [, collection, rest] = ROW_ROUTE.exec(route) ?? []
  if (collection === undefined) return null
  const nameOf = (id: string) =>
    textOf(redactUrl(`${collection}/${id}`, secretFields), OBJECT_CHARACTERS)
  if (params.id !== undefined) return nameOf(params.id)
  if (rest !== undefined || answer?.status !== 201) return null
  // A route of the team, or its upstream, writes any text.
  const location = answer.headers?.location?.split(/[?#]/, 1)[0]
  return location === undefined ? null : nameOf(location.slice(location.lastIndexOf('/') + 1))
}

/** Returns headers and bodies of an error as JSON; null if they are not recorded. */
function describeExchange(
  exchange: Exchange,
  answer: Answer | undefined,
  { recordsBodies, secretFields }: RecordOptions,
): string | null {
  if (!recordsBodies || !isError(answer)) return null
  // The path may be encoded, and the route of an unknown path says nothing.
  if ([exchange.path, exchange.route].some((path) => PRIVATE_PATH.test(path))) return null
  if (isOfStranger(exchange, answer)) return null
  const unknownNames = unknownNamesOf(exchange)
  const isMedia = exchange.body instanceof MediaBody
  const { value, truncated } = isMedia
    ? { truncated: false }
    : unknownNames && hasNames(exchange.body)
      ? redactBody(exchange.body, withNames(secretFields, unknownNames))
      : { truncated: true }
  return JSON.stringify({
    headers: redactHeaders(exchange.headers, secretFields),
    body: value,
    body_truncated: truncated || undefined,
    // A body that is not JSON is not stored: nothing identifies the secrets in it.
    body_bytes: exchange.bytes.length,
    answer: answer && {
      headers: redactHeaders({ ...exchange.out, ...answer.headers }, secretFields),
      body: parseAnswer(answer, secretFields),
    },
  })
}

const withNames = (fields: ReadonlySet<string>, more: ReadonlySet<string>): ReadonlySet<string> =>
  more.size === 0 ? fields : fields.union(more)

const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether each value of a body has a name: a bare text may be a password. */
const hasNames = (body: unknown): boolean =>
  body === undefined || isObject(body) || (Array.isArray(body) && body.every(isObject))

/**
 * Returns the names of the members that the failure calls unknown: each may be a misspelled name of
 * a secret. Undefined if the failure may not name all of them.
 */
function unknownNamesOf({ errors }: Exchange): ReadonlySet<string> | undefined {
  const unknown = errors.filter(({ code }) => code === 'unknown_field')
  if (unknown.length > 0 && errors.length >= ERRORS_MAX) return undefined
  const names = unknown.map(({ pointer = '' }) =>
    pointer
      .slice(pointer.lastIndexOf('/') + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~'),
  )
  // The pointer has a part of a longer name.
  return names.some((name) => name.length > NAME_CHARACTERS_MAX) ? undefined : new Set(names)
}

function parseAnswer({ json }: Answer, secretFields: ReadonlySet<string>): unknown {
  if (json === undefined || json.length > 65_536) return undefined
  return redactBody(JSON.parse(json), secretFields, true).value
}
