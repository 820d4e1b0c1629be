/**
 * The parts of an OpenAPI document that are the same for every service: parameters, envelopes,
 * errors. Pure.
 */
import { failures } from '../kernel/failure.ts'
import { DEFAULT_LIMIT, MAX_LIMIT } from '../lists/grammar.ts'
import type { JsonSchema } from './schema.ts'

export const ref = (kind: string, name: string): JsonSchema => ({
  $ref: `#/components/${kind}/${name}`,
})
export const content = (schema: JsonSchema) => ({ 'application/json': { schema } })

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
const pageSize = { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }
const styles = ['offset', 'cursor', 'keyset', 'page', 'hypermedia']

/** Parameters every list takes; which of them go together is §7.1. */
export const listParameters: Readonly<Record<string, JsonSchema>> = {
  Pagination: query('pagination', { type: 'string', enum: styles }, 'The style, said outright.'),
  Limit: query('limit', pageSize, 'Rows on a page: offset, cursor and keyset styles.'),
  Cursor: query('cursor', { type: 'string' }, 'A position from `cursors` of a page before.'),
  Offset: query('offset', integer(0), 'Rows before the page.'),
  AfterId: query('after_id', integer(0), 'Rows with a larger id, ascending.'),
  Page: query('page', integer(1), 'The page, from 1.'),
  PerPage: query('per_page', pageSize, 'Rows on a page: page and hypermedia styles.'),
}

const header = (name: string, schema: JsonSchema, description: string): JsonSchema => ({
  name,
  in: 'header',
  description,
  schema,
})

/** Headers of repeats and conditions (§11.1, §11.2). */
export const headerParameters: Readonly<Record<string, JsonSchema>> = {
  IdempotencyKey: header(
    'Idempotency-Key',
    { type: 'string', minLength: 1, maxLength: 255 },
    'A repeat with the same key and body is answered like the first one, and not done again.',
  ),
  IfMatch: header('If-Match', { type: 'string' }, 'Only if the row still has this `ETag`.'),
  IfNoneMatch: header('If-None-Match', { type: 'string' }, 'Only if the `ETag` is another one.'),
}

/** Of what is read with `If-None-Match`. */
export const unchanged = { 304: { description: 'It is what the caller has already.' } }

const object = (properties: Record<string, unknown>): JsonSchema => ({
  type: 'object',
  required: Object.keys(properties),
  properties,
})
const text = { type: 'string' }
const flag = { type: 'boolean' }
const count = integer(0)

/** The five envelopes of a list of `item` (§7.2). */
export function listSchema(item: JsonSchema): JsonSchema {
  const data = { type: 'array', items: item }
  const maybe = { type: ['string', 'null'] }
  const links = { type: 'object', additionalProperties: text }
  const meta = object({
    total: count,
    per_page: count,
    current_page: count,
    total_pages: count,
    from: count,
    to: count,
  })
  const cursors = object({ next: maybe, prev: maybe })
  return {
    'x-open-set': true, // a further style comes only to those who choose it
    oneOf: [
      { title: 'cursor', ...object({ data, cursors, next_cursor: maybe, has_more: flag }) },
      { title: 'keyset', ...object({ data, after_id: count, has_more: flag }) },
      { title: 'offset/limit', ...object({ data, offset: count, limit: count, total: count }) },
      {
        title: 'page',
        ...object({ data, page: count, per_page: count, total: count, total_pages: count }),
      },
      { title: 'hypermedia', ...object({ data, links, meta }) },
    ],
  }
}

/**
 * Words that may be joined by others without notice: callers treat one they do not know as such.
 * The gate takes no such set for a promise (§8.11).
 */
const openSet = (words: readonly string[]): JsonSchema => ({
  type: 'string',
  enum: words,
  'x-open-set': true,
})

/** The uniform error (§10.1), its codes those of the failure table. */
export const errorSchema: JsonSchema = {
  type: 'object',
  required: ['error', 'message', 'status', 'request_id'],
  properties: {
    error: openSet(Object.keys(failures)),
    message: text,
    status: { type: 'integer' },
    request_id: text,
    documentation: { type: 'string', format: 'uri' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['code', 'message'],
        properties: { pointer: text, parameter: text, code: text, message: text },
      },
    },
  },
}

const problems: Readonly<Record<number, string>> = {
  400:
    'The syntax or a parameter is wrong, or a list needs too many rows (`query_too_expensive`) ' +
    'or bytes (`page_too_large`).',
  401: 'A credential is required, or the one sent is not good.',
  403: 'The credential is not valid, or lacks a scope.',
  404: 'There is nothing here, or nothing of yours.',
  406: 'None of the accepted media types can be served.',
  409: 'It conflicts with what is stored.',
  412: 'The row is not in the state `If-Match` names.',
  413: 'The body is too large.',
  415: 'The media type of the body is not read here.',
  422: 'The body does not fit; `errors` says where.',
  429: 'Too many requests; see `Retry-After`.',
}

const problem = (description: string) => ({
  description,
  content: {
    ...content(ref('schemas', 'Error')),
    'application/problem+json': { schema: ref('schemas', 'Error') },
  },
})

export const errorResponses: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    Object.entries(problems).map(([status, text]) => [`Error${status}`, problem(text)]),
  ),
  Error: problem('Any other failure; `error` names it.'),
}

/** References to the error responses an operation can give; `default` is what any path may. */
export const failing = (...statuses: readonly number[]): Record<string, unknown> => ({
  ...Object.fromEntries(
    [400, 401, 403, 406, 429, ...statuses]
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
    description: 'The preferred way. `Authorization: ApiKey <key>` says the same.',
  },
  Bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
  Basic: { type: 'http', scheme: 'basic', description: 'From internal networks only.' },
}

/** An event as `GET /events` shows it and webhooks deliver it. */
export const eventSchema = (types: readonly string[]): JsonSchema =>
  object({
    id: text,
    type: openSet(types),
    created: integer(0, { description: 'Unix seconds.' }),
    livemode: flag,
    data: object({ object: { type: 'object' } }),
  })

export const idParameter = (type: 'integer' | 'string'): JsonSchema => ({
  name: 'id',
  in: 'path',
  required: true,
  schema: type === 'integer' ? { type, minimum: 1 } : { type },
})

export const answer = (status: number, description: string, schema?: JsonSchema) => ({
  [status]: { description, ...(schema && { content: content(schema) }) },
})
