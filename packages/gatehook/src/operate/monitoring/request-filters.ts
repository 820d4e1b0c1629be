/**
 * The parameters of the request list (`GET /admin/requests`). A valid filter is the SQL condition
 * that follows from it. One filter selects the index; the others apply to a bounded number of rows
 * of it. Pure.
 */

import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { b, type ValuesOf } from '../../protocol/fields/members.ts'
import type { RejectValue } from '../../protocol/fields/spec.ts'
import { validateModes } from './mode-condition.ts'
import { positionAt } from './position.ts'

const VALUES_MAX = 20
const VALUE_CHARACTERS = 256
const CURSOR_CHARACTERS = 1024
export const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100
const DURATION_MAX_MS = 1e9

export interface RequestFilter {
  readonly condition: Sql
  /** Whether this condition and the position are a range of one index. */
  readonly isIndexed: boolean
}

const requestFilter = (condition: Sql, isIndexed = false): RequestFilter => ({
  condition,
  isIndexed,
})

const text = b.text({ min: 1, max: VALUE_CHARACTERS })

/** One of several values, separated by commas. `isIndexed`: an index has column and position. */
const valueFilter = (column: string, isIndexed: boolean) =>
  text
    .refine((values, reject) => {
      const conditions = values.split(',').map((value) => sql`${raw(column)} = ${value}`)
      return anyOf(conditions, reject, isIndexed)
    })
    .optional()

function anyOf(
  conditions: readonly Sql[],
  reject: RejectValue,
  isIndexed: boolean,
): RequestFilter | undefined {
  if (conditions.length > VALUES_MAX) return reject(`must have at most ${VALUES_MAX} values`)
  const [first] = conditions
  if (conditions.length === 1) return requestFilter(first!, isIndexed)
  return requestFilter(sql`(${join(conditions, ' OR ')})`)
}

const prefixFilter = (column: string) =>
  text
    .refine((prefix) =>
      requestFilter(sql`substr(${raw(column)}, 1, ${[...prefix].length}) = ${prefix}`),
    )
    .optional()

const durationFilter = (comparison: '=' | '>' | '>=' | '<' | '<=') =>
  b
    .number()
    .refine((ms, reject) =>
      ms >= 0 && ms <= DURATION_MAX_MS
        ? requestFilter(sql`took_ms ${raw(comparison)} ${ms}`)
        : reject(`must be from 0 to ${DURATION_MAX_MS}`),
    )
    .optional()

const presenceFilter = (column: string) =>
  b
    .bool()
    .refine((isPresent) =>
      requestFilter(sql`${raw(column)} ${raw(isPresent ? 'IS NOT NULL' : 'IS NULL')}`),
    )
    .optional()

/** `404`, `4xx`, `403,429`, and `none`, which finds requests without a response. */
const statusFilter = text
  .refine((values, reject) => {
    const conditions: Sql[] = []
    for (const value of values.split(',')) {
      const condition = statusCondition(value)
      if (!condition) return reject('must be a status (404), a class (4xx) or none')
      conditions.push(condition)
    }
    return anyOf(conditions, reject, /^[45]\d\d$/.test(values))
  })
  .optional()

function statusCondition(value: string): Sql | undefined {
  if (value === 'none') return sql`status IS NULL`
  if (/^[1-5]xx$/.test(value)) {
    const lowest = Number(value[0]) * 100
    return sql`(status >= ${lowest} AND status < ${lowest + 100})`
  }
  if (!/^[1-5]\d\d$/.test(value)) return undefined
  // The index has errors only; the planner needs its condition.
  return Number(value) >= 400
    ? sql`(status = ${Number(value)} AND status >= 400)`
    : sql`status = ${Number(value)}`
}

/** `live`, `test`, `live,none`: the callers of some requests are unidentified. */
const modeFilter = text
  .refine((values, reject) => {
    if (validateModes(values, reject) === undefined) return undefined
    const conditions = values
      .split(',')
      .map((value) => (value === 'none' ? sql`mode IS NULL` : sql`mode = ${value}`))
    return anyOf(conditions, reject, false)
  })
  .optional()

/** The filters with an index come first: of several, the first one selects it. */
export const requestQuery = {
  limit: b.int(1, MAX_LIMIT).optional().describe(`Default ${DEFAULT_LIMIT}.`),
  cursor: b.text({ max: CURSOR_CHARACTERS }).optional().describe('A position of another page.'),
  from: b.instant().optional().describe('The start of the period.'),
  to: b.instant().optional().describe('The end of the period.'),
  id: valueFilter('id', true).describe('The id of a request.'),
  object: valueFilter('object', true).describe('A row: `collection/id`.'),
  key_id: valueFilter('key_id', true).describe('The id of a key.'),
  client_id: valueFilter('client_id', true).describe('The id of a client.'),
  error: valueFilter('error', true).describe('The code of a failure.'),
  customer: valueFilter('customer', true).describe('The id of a customer.'),
  status: statusFilter.describe('Statuses, classes as `4xx`, or `none`, separated by commas.'),
  route: valueFilter('route', true).describe('The template of a path.'),
  mode: modeFilter.describe(
    '`live`, `test`, or `none` for unidentified callers; several separated by commas.',
  ),
  method: valueFilter('method', false).describe('An HTTP method.'),
  version: valueFilter('version', false).describe('A version.'),
  ip: valueFilter('ip', false).describe('The IP address of a client.'),
  path: prefixFilter('path').describe('The first characters of a path.'),
  warnings: presenceFilter('warnings').describe('Whether the response has warnings.'),
  took_ms: durationFilter('=').describe('A duration in milliseconds.'),
  'took_ms[gt]': durationFilter('>').describe('Longer durations.'),
  'took_ms[gte]': durationFilter('>=').describe('This duration and longer ones.'),
  'took_ms[lt]': durationFilter('<').describe('Shorter durations.'),
  'took_ms[lte]': durationFilter('<=').describe('This duration and shorter ones.'),
}

/** The valid parameters of a request list. */
export type RequestSelection = ValuesOf<typeof requestQuery>

/** Finds requests whose responses have the status 4xx or 5xx. */
export const failedRequests = requestFilter(sql`status >= 400`)

export interface RequestQuery {
  readonly filters: readonly RequestFilter[]
  /** Positions: from inclusive, to exclusive. */
  readonly from: number
  readonly to: number
}

/** Returns the conditions of a selection. */
export function requestQueryOf({
  from,
  to,
  ...filters
}: Omit<RequestSelection, 'limit' | 'cursor'>): RequestQuery {
  return {
    filters: Object.values(filters).filter((filter) => filter !== undefined),
    from: from === undefined ? 0 : positionAt(from),
    to: to === undefined ? Number.MAX_SAFE_INTEGER : positionAt(to),
  }
}
