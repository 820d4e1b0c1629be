/**
 * The parts of an OpenAPI document that every service shares: parameters, envelopes, errors. Pure.
 */

import { type FailureCode, failures } from '../../kernel/failure.ts'
import type { JsonSchema } from '../fields/json-schema.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../lists/grammar.ts'
import { describeMembers } from './engine-words.ts'

export const ref = (kind: string, name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
})
/** The headers of a change of one object. */
export const changeParameters = ['IfMatch', 'IdempotencyKey', 'Prefer'].map((name) =>
  ref('parameters', name),
)
export const content = (schema: JsonSchema, example?: unknown) => ({
  'application/json': { schema, ...(example !== undefined && { example }) },
})

/** The schemes of operations without their own `security`. */
export const credentialSchemes = [{ ApiKey: [] }, { Bearer: [] }, { Basic: [] }]

/** The failures of a list (§7), besides those of every request. */
export const listErrors: readonly FailureCode[] = [
  'invalid_parameter',
  'unknown_parameter',
  'pagination_conflict',
  'invalid_cursor',
  'cursor_mismatch',
  'offset_too_large',
  'query_too_expensive',
  'page_too_large',
]

/** The failures of a body, of `Idempotency-Key` and of a large change (§10.2, §11.1, §11.5). */
export const writeErrors: readonly FailureCode[] = [
  'invalid_json',
  'validation_failed',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'idempotency_in_progress',
  'change_too_large',
]

const integer = (minimum: number, more: JsonSchema = {}): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum: Number.MAX_SAFE_INTEGER,
  ...more,
})
const query = (name: string, schema: JsonSchema, description: string): JsonSchema => ({
  name,
  in: 'query',
  description,
  schema,
})
/** Without `default`: some clients send the defaults of all parameters, and these two conflict. */
const pageSize = { type: 'integer', minimum: 1, maximum: MAX_LIMIT }
const BY_DEFAULT = `Default: ${DEFAULT_LIMIT}.`
const styles = ['offset', 'cursor', 'keyset', 'page', 'hypermedia']

/** Returns the parameter of the keyset style, for ids of a schema. */
export function afterIdParameter(schema: JsonSchema): JsonSchema {
  return query('after_id', schema, 'Rows with a larger id, ascending.')
}

/** The parameters of every list. §7.1 says which can be combined. */
export const listParameters: Readonly<Record<string, JsonSchema>> = {
  Pagination: query('pagination', { type: 'string', enum: styles }, 'The pagination style.'),
  Limit: query(
    'limit',
    pageSize,
    `Rows on a page: offset, cursor and keyset styles. ${BY_DEFAULT}`,
  ),
  Cursor: query('cursor', { type: 'string' }, 'A position from `cursors` of another page.'),
  Offset: query('offset', integer(0), 'Rows before the page.'),
  AfterId: afterIdParameter(integer(0)),
  Page: query('page', integer(1), 'The page, from 1.'),
  PerPage: query('per_page', pageSize, `Rows on a page: page and hypermedia styles. ${BY_DEFAULT}`),
}

const header = (name: string, schema: JsonSchema, description: string): JsonSchema => ({
  name,
  in: 'header',
  description,
  schema,
})

/** The headers of idempotency and preconditions (§11.1, §11.2). */
export const headerParameters: Readonly<Record<string, JsonSchema>> = {
  IdempotencyKey: header(
    'Idempotency-Key',
    { type: 'string', minLength: 1, maxLength: 255 },
    'A request with the same key and body gets the response of the first one, without its effects.',
  ),
  IfMatch: header(
    'If-Match',
    { type: 'string' },
    'The request requires that the row has this `ETag`.',
  ),
  IfNoneMatch: header(
    'If-None-Match',
    { type: 'string' },
    'The server returns 304 if the row has this `ETag`.',
  ),
  Prefer: header(
    'Prefer',
    { type: 'string' },
    '`dry-run`: the server stores nothing. The response is that of the write, with its status, ' +
      'events and deliveries in `_dry_run`. A 204 becomes a 200 whose body is `{"_dry_run": …}`, ' +
      'which no response describes. `?dry_run=true` is equivalent. `idempotency=caller`: the ' +
      '`Idempotency-Key` is valid in every version, and other requests with it are rejected.',
  ),
  LastEventID: header('Last-Event-ID', { type: 'string' }, 'Resumes after the event with this id.'),
}

/** The position that a read needs (`identity/access/read-after.ts`). */
export const readAfterParameter: JsonSchema = header(
  'Gatehook-Read-After',
  { type: 'string', pattern: '^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$', examples: ['0/0'] },
  'The value of an earlier response: with replicas, the read contains all that it contained.',
)

/** The headers of responses. */
export const responseHeaders: Readonly<Record<string, JsonSchema>> = {
  Location: { description: 'The path of the new row.', schema: { type: 'string' } },
  Link: {
    description: 'The links `first`, `prev`, `next` and `last` of the page (RFC 8288).',
    schema: { type: 'string' },
  },
}

/** The response to `If-None-Match`. */
export const unchanged = { 304: { description: 'The row has not changed.' } }

const object = (properties: Record<string, unknown>): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})
const text = { type: 'string' }
const boolean = { type: 'boolean' }
const count = integer(0)

const nullableText = { type: ['string', 'null'] }

/** The members of pages that have members themselves. */
export const listSchemas: Readonly<Record<string, JsonSchema>> = {
  ListCursors: {
    description: 'The positions of the neighbouring pages, in the cursor style.',
    ...describeMembers('ListCursors', object({ next: nullableText, prev: nullableText })),
  },
  ListMeta: {
    description: 'The totals, in the hypermedia style.',
    ...describeMembers(
      'ListMeta',
      object({
        total: count,
        per_page: count,
        current_page: count,
        total_pages: count,
        from: count,
        to: count,
      }),
    ),
  },
}

/**
 * A page of a list of `item`, in any of the five styles (§7.2, decision 0065). `afterId`: the
 * schema of ids, or of 0.
 */
export function listSchema(item: JsonSchema, afterId: JsonSchema = count): JsonSchema {
  return describeMembers('', {
    type: 'object',
    required: ['data'],
    properties: {
      data: { type: 'array', items: item },
      cursors: ref('schemas', 'ListCursors'),
      next_cursor: nullableText,
      has_more: boolean,
      after_id: afterId,
      offset: count,
      limit: count,
      total: count,
      page: count,
      per_page: count,
      total_pages: count,
      links: { type: 'object', additionalProperties: text },
      meta: ref('schemas', 'ListMeta'),
    },
  })
}

/** An example of a list in the cursor style. */
export const listExample = (...data: readonly unknown[]) => ({
  data,
  cursors: { next: SAMPLE_CURSOR, prev: null },
  next_cursor: SAMPLE_CURSOR,
  has_more: true,
})
const SAMPLE_CURSOR = 'jEmdqdfoP7pUYWsk'

/**
 * Returns a set that can grow without notice: callers must expect unknown values. The gate does not
 * compare it (§8.11).
 */
export const openSet = (values: readonly string[]): JsonSchema => ({
  type: 'string',
  enum: values,
  'x-open-set': true,
})

/**
 * The error envelope (§10.1), with the codes of the failure table. No component is named `Error`:
 * a generated class of that name hides the one of its language.
 */
export const errorSchemas: Readonly<Record<string, JsonSchema>> = {
  ErrorCode: {
    description: 'The code of the failure. Programs decide by it.',
    ...openSet(Object.keys(failures)),
  },
  ErrorDetail: {
    description: 'A mistake in the request.',
    ...describeMembers('ErrorDetail', {
      type: 'object',
      required: ['code', 'message'],
      properties: { pointer: text, parameter: text, code: text, message: text },
    }),
  },
  ErrorBody: {
    description: 'A failure.',
    ...describeMembers('ErrorBody', {
      type: 'object',
      required: ['error', 'message', 'status', 'request_id'],
      properties: {
        error: ref('schemas', 'ErrorCode'),
        message: text,
        status: { type: 'integer' },
        request_id: text,
        documentation: { type: 'string', format: 'uri' },
        errors: { type: 'array', items: ref('schemas', 'ErrorDetail') },
      },
    }),
  },
}

/** The statuses of the engine's failures, and those that only a service's own failures have. */
type EngineStatus = (typeof failures)[FailureCode][0]
export type ErrorStatus = EngineStatus | 402 | 424

/** A sentence for every status that an operation can list. */
const problems: Readonly<Record<ErrorStatus, string>> = {
  400:
    'The syntax or a parameter is invalid, or a list needs too many rows (`query_too_expensive`) ' +
    'or bytes (`page_too_large`).',
  401: 'A credential is missing or invalid.',
  402: 'A payment is required, or was declined.',
  403: 'The credential is expired or revoked, or lacks a scope.',
  404: 'The resource does not exist, or is out of reach.',
  405: 'The path does not have the method.',
  406: 'The server cannot produce an accepted media type.',
  408: 'The request took too long to arrive.',
  409: 'The request conflicts with stored data.',
  410: 'The version is retired, or in an announced brownout.',
  412: 'The row does not have the `ETag` of `If-Match`.',
  413: 'The body is too large, or the change (`change_too_large`).',
  414: 'The URL is too long.',
  415: 'The media type of the body is not supported.',
  421: 'The host is not served here.',
  422: 'The body is invalid; `errors` has the pointers.',
  424: 'The request depends on another one, which failed.',
  429: 'Too many requests; see `Retry-After`.',
  431: 'The headers are too large or too many.',
  500: 'The server has failed. The log explains it by the id of the request.',
  502: 'A service that the request needs failed, or is unreachable.',
  503: 'The server is overloaded, or shutting down. Retry later.',
  504: 'A service that the request needs did not respond in time.',
}

const problem = (description: string) => ({
  description,
  content: {
    ...content(ref('schemas', 'ErrorBody')),
    'application/problem+json': { schema: ref('schemas', 'ErrorBody') },
  },
})

export const errorResponses: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    Object.entries(problems).map(([status, text]) => [`Error${status}`, problem(text)]),
  ),
  Error: problem('Any other failure, by the code `error`.'),
}

/** Returns the error responses to which operations refer. */
export function usedErrorResponses(paths: unknown): Readonly<Record<string, unknown>> {
  const text = JSON.stringify(paths)
  const isUsed = ([name]: [string, unknown]) => text.includes(`"#/components/responses/${name}"`)
  return Object.fromEntries(Object.entries(errorResponses).filter(isUsed))
}

const COMMON_STATUSES = [400, 401, 403, 406, 429] as const

/** Returns references to the error responses of an operation, and the default. */
export const failing = (...statuses: readonly ErrorStatus[]): Record<string, unknown> => ({
  ...Object.fromEntries(
    [...COMMON_STATUSES, ...statuses]
      .sort((a, b) => a - b)
      .map((status) => [String(status), ref('responses', `Error${status}`)]),
  ),
  default: ref('responses', 'Error'),
})

export const securitySchemes = {
  ApiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'The preferred scheme. `Authorization: ApiKey <key>` is equivalent.',
  },
  Bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  Basic: { type: 'http', scheme: 'basic', description: 'From internal networks only.' },
}

export const idParameter = (schema: JsonSchema): JsonSchema => ({
  name: 'id',
  in: 'path',
  required: true,
  schema,
})

export const answer = (
  status: number,
  description: string,
  schema?: JsonSchema,
  example?: unknown,
) => ({
  [status]: { description, ...(schema && { content: content(schema, example) }) },
})
