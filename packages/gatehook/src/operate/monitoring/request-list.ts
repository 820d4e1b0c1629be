/**
 * Reads pages of the request log, newest first. A page examines at most `EXAMINED_ROWS_MAX` rows of
 * one index: if the filters match few of them, it ends early, and its cursor continues there.
 */

import type { MacKeys } from '../../kernel/secret.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { bindingOf, type Cursor, decodeCursor, encodeCursor } from '../../protocol/lists/cursor.ts'
import type { RequestQuery } from './request-filters.ts'
import type { RequestRecord } from './request-record.ts'

/** Rows that one page examines. */
const EXAMINED_ROWS_MAX = 20_000

/** The columns of a list; `cause` and `exchange` are only part of a single request. */
const LIST_COLUMNS =
  'position, id, method, path, route, kind, stage, status, error, took_ms, customer, mode, ' +
  'caller_kind, caller_id, caller_name, key_id, client_id, version, ip, user_agent, object, ' +
  'event_ids, warnings, trace_id'

export type ListedRequest = Omit<RequestRecord, 'cause' | 'exchange'>

export interface RequestPage {
  readonly rows: readonly ListedRequest[]
  readonly next: string | null
  readonly prev: string | null
}

interface PageRequest {
  readonly query: RequestQuery
  readonly limit: number
  readonly cursor: string | undefined
  readonly cursorKeys: MacKeys
}

export async function readRequestPage(
  from: Reader,
  { query, limit, cursor: text, cursorKeys }: PageRequest,
): Promise<RequestPage> {
  const binding = bindingOf('requests', query.from, query.to, conditionsText(query))
  const cursor = text === undefined ? undefined : decodeCursor(cursorKeys, binding, text)
  const encode = (step: Cursor['step'], position: number) =>
    encodeCursor(cursorKeys.current, binding, { step, keys: [position] })
  const isBackward = cursor?.step === 'before'
  const edge = cursor?.keys[0] as number | undefined
  // Newest first: a page after a row has lower positions, a page before it has higher ones.
  const range: PositionRange = {
    from: isBackward ? edge! + 1 : query.from,
    to: isBackward || edge === undefined ? query.to : Math.min(query.to, edge),
    ascending: isBackward,
  }
  const page = await readRange(from, query, range, limit)
  const rows = isBackward ? [...page.rows].reverse() : page.rows
  const newest = rows[0]?.position
  const oldest = rows.at(-1)?.position
  // The cursor of an empty page leads back to the row from which it was reached.
  const next = isBackward ? (oldest ?? edge! + 1) : page.continuesAt
  const prev = isBackward
    ? page.continuesAt && (newest ?? page.continuesAt)
    : cursor && (newest ?? edge! - 1)
  return {
    rows,
    next: next === undefined ? null : encode('after', next),
    prev: prev === undefined ? null : encode('before', prev),
  }
}

const conditionsText = ({ filters }: RequestQuery): string =>
  JSON.stringify(filters.map(({ condition }) => [condition.sql, condition.values]))

interface PositionRange {
  readonly from: number
  readonly to: number
  readonly ascending: boolean
}

interface ReadRange {
  readonly rows: readonly ListedRequest[]
  /** The position at which a further page continues; undefined if there are no further rows. */
  readonly continuesAt: number | undefined
}

async function readRange(
  from: Reader,
  { filters }: RequestQuery,
  range: PositionRange,
  limit: number,
): Promise<ReadRange> {
  const indexed = filters.find(({ isIndexed }) => isIndexed)
  const others = filters.filter((filter) => filter !== indexed)
  const path = indexed ? [indexed.condition] : []
  const bound = others.length === 0 ? undefined : await findBound(from, path, range)
  const examined = bound === undefined ? range : boundedBy(range, bound)
  const where = [...path, ...others.map(({ condition }) => condition)]
  const rows = await from.all<ListedRequest & Row>(
    planStatement(sql`SELECT ${raw(LIST_COLUMNS)} FROM gh_monitoring_requests
      WHERE ${conditionsOf(where, examined)} ${orderOf(range)} LIMIT ${limit + 1}`),
  )
  if (rows.length > limit) {
    const page = rows.slice(0, limit)
    return { rows: page, continuesAt: page.at(-1)!.position }
  }
  return { rows, continuesAt: bound }
}

const boundedBy = (range: PositionRange, bound: number): PositionRange =>
  range.ascending ? { ...range, to: bound + 1 } : { ...range, from: bound }

/** Returns the position of the last row that a page may examine; undefined if fewer rows exist. */
async function findBound(
  from: Reader,
  path: readonly Sql[],
  range: PositionRange,
): Promise<number | undefined> {
  const row = await from.get(
    planStatement(sql`SELECT position FROM gh_monitoring_requests WHERE ${conditionsOf(path, range)}
      ${orderOf(range)} LIMIT 1 OFFSET ${EXAMINED_ROWS_MAX - 1}`),
  )
  return row?.position as number | undefined
}

const conditionsOf = (conditions: readonly Sql[], { from, to }: PositionRange): Sql =>
  join([...conditions, sql`position >= ${from}`, sql`position < ${to}`], ' AND ')

const orderOf = ({ ascending }: PositionRange): Sql =>
  raw(`ORDER BY position ${ascending ? 'ASC' : 'DESC'}`)

/** PostgreSQL plans each run for the values at hand. */
const planStatement = ({ sql: text, text: numbered, values }: Sql) => ({
  sql: text,
  text: numbered,
  values,
  planned: true,
})

/**
 * Returns the newest request with an id that fulfils the conditions; clients can send an id more
 * than once, and of another customer.
 */
export const findRequest = (
  from: Reader,
  id: string,
  conditions: readonly Sql[] = [],
): Promise<RequestRecord | undefined> =>
  from.get<RequestRecord & Row>(sql`SELECT ${raw(LIST_COLUMNS)}, cause, exchange
    FROM gh_monitoring_requests WHERE ${join([sql`id = ${id}`, ...conditions], ' AND ')}
    ORDER BY position DESC LIMIT 1`)

/** Returns the newest requests after a position, oldest first. */
export async function readRequestsAfter(from: Reader, position: number, limit: number) {
  const rows = await from.all<ListedRequest & Row>(
    sql`SELECT ${raw(LIST_COLUMNS)} FROM gh_monitoring_requests
      WHERE position > ${position} ORDER BY position DESC LIMIT ${limit}`,
  )
  return rows.reverse()
}

/** Counts requests after a position, at most `EXAMINED_ROWS_MAX`. */
export async function countRequestsAfter(from: Reader, position: number): Promise<number> {
  const row = await from.get(sql`SELECT count(*) AS total FROM (SELECT position
    FROM gh_monitoring_requests WHERE position > ${position} LIMIT ${EXAMINED_ROWS_MAX}) AS later`)
  return Number(row!.total)
}
