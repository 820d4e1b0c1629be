/**
 * SQL of deliveries that wait in their events, without rows of their own (decision 0083). An event
 * names at most one. It gets a row, and the event names none, in the same transaction.
 */
import type { Scope } from '../../kernel/principal.ts'
import type { Database, Reader, Row, Tx } from '../../platform/storage/database.ts'
import { readWalk, walkKeys } from '../../platform/storage/key-walk.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'

/** The condition that an event names a waiting delivery. */
export const WAITS = 'waits_for IS NOT NULL'

/** A delivery that waits in the event that is being recorded. */
export interface WaitingDelivery {
  /** The number of the registration. */
  readonly waitsFor: number
  readonly id: string
  readonly version: string
}

/** When the delivery was created, as of the outbox: at the recording of its event. */
const CREATED_MS = 'CAST(COALESCE(recorded_at, created * 1000) AS BIGINT)'

/**
 * SQL: waiting deliveries with the columns of rows of deliveries; the statement around it excludes
 * those without `webhook_no`. Both databases merge them with those rows in the order of an index
 * only if the columns agree, on SQLite in their affinity, on PostgreSQL in their collation, which a
 * text takes from the column `type`; PostgreSQL only if there is no condition.
 */
export const SELECT_WAITING = `SELECT waiting_id AS id, scope, waits_for AS webhook_no,
    id AS event_id, type AS event_type, waiting_version AS version,
    CAST(COALESCE(NULLIF(type, type), 'pending') AS TEXT) AS state,
    ${CREATED_MS} AS next_attempt_at, ${CREATED_MS} AS created_at,
    CAST(NULLIF(type, type) AS TEXT) AS attempts, CAST(NULL AS BIGINT) AS failed
  FROM gh_events`

/** SQL: the events that name a waiting delivery. */
export const WAITING_EVENTS = `(SELECT scope, id, waits_for, waiting_id FROM gh_events
  WHERE ${WAITS})`

/** A registration by its columns, and ids of deliveries. */
interface WaitingRange {
  readonly scope: Scope
  readonly no: number
  readonly from: string
  readonly to: string
}

export interface TakenDelivery extends Row {
  readonly id: string
  readonly event_id: string
  readonly type: string
  readonly version: string
  readonly created_ms: number
}

const firstIds = prepareStatement(`SELECT waiting_id FROM gh_events
  WHERE ${WAITS} AND scope = ? AND waits_for = ? AND waiting_id < ?
  ORDER BY waiting_id LIMIT ?`)
const take = prepareStatement(`UPDATE gh_events SET waits_for = NULL
  WHERE ${WAITS} AND scope = ? AND waits_for = ? AND waiting_id >= ? AND waiting_id <= ?
  RETURNING waiting_id AS id, id AS event_id, type, waiting_version AS version,
    ${CREATED_MS} AS created_ms`)

/** Reads the ids of the first waiting deliveries of a registration, below an id. */
export async function readWaitingIds(
  from: Reader,
  { scope, no }: Pick<WaitingRange, 'scope' | 'no'>,
  below: string,
  limit: number,
): Promise<readonly string[]> {
  const rows = await from.arrays(firstIds([scope, no, below, limit]))
  return rows.map(([id]) => id as string)
}

const firstLater = prepareStatement(`SELECT waiting_id FROM gh_events
  WHERE ${WAITS} AND scope = ? AND waits_for = ? AND created > ? AND created <= ?
  ORDER BY waiting_id LIMIT 1`)

/**
 * Reads the id of the first waiting delivery of a registration whose event was created in a period,
 * in seconds. Ids do not tell: on SQLite they never decrease, and can be ahead of the clock.
 */
export async function findWaitingIn(
  from: Reader,
  { scope, no }: Pick<WaitingRange, 'scope' | 'no'>,
  afterS: number,
  untilS: number,
): Promise<string | undefined> {
  const [row] = await from.arrays(firstLater([scope, no, afterS, untilS]))
  return row?.[0] as string | undefined
}

/** Takes waiting deliveries out of their events: the same transaction inserts their rows. */
export const takeWaiting = (tx: Tx, { scope, no, from, to }: WaitingRange) =>
  tx.all<TakenDelivery>(take([scope, no, from, to]))

const waitingByNo = { table: 'gh_events', where: WAITS, key: 'waits_for' }
const forNos = prepareStatement(`${walkKeys(waitingByNo)}
  SELECT e.no, (SELECT created * 1000 FROM gh_events
    WHERE ${WAITS} AND waits_for = e.no ORDER BY waiting_id LIMIT 1)
  FROM e WHERE e.no IS NOT NULL ORDER BY e.no`)

/** Seeks the registrations with waiting deliveries, by number, and the time of the first one. */
export async function listAwaited(
  db: Database,
  afterNo: number,
  limit: number,
): Promise<readonly { readonly no: number; readonly since: number }[]> {
  const rows = await readWalk(db, forNos([afterNo, limit]))
  return rows.map(([no, since]) => ({ no: no as number, since: since as number }))
}

const count = prepareStatement(`SELECT COUNT(*) AS total
  FROM (SELECT 1 AS one FROM gh_events
    WHERE ${WAITS} AND scope = ? AND waits_for = ? LIMIT ?) AS e`)
const oldest = prepareStatement(`SELECT created * 1000 FROM gh_events
  WHERE ${WAITS} AND scope = ? AND waits_for = ? ORDER BY waiting_id LIMIT 1`)
const countAll = prepareStatement(`SELECT COUNT(*) AS total
  FROM (SELECT 1 AS one FROM gh_events WHERE ${WAITS} AND waits_for > 0 LIMIT ?) AS e`)

/** Counts the waiting deliveries of a registration, at most `most`, and the time of the first. */
export async function countWaitingIn(
  from: Reader,
  { scope, no }: Pick<WaitingRange, 'scope' | 'no'>,
  most: number,
): Promise<{ readonly total: number; readonly oldest: number | null }> {
  const [counts, first] = await Promise.all([
    from.arrays(count([scope, no, most])),
    from.arrays(oldest([scope, no])),
  ])
  return { total: Number(counts[0]![0]), oldest: (first[0]?.[0] ?? null) as number | null }
}

/** In the order of an index, so that no plan searches other events for the first one. */
const anyFor = prepareStatement(`SELECT 1 FROM gh_events
  WHERE ${WAITS} AND waits_for = ? ORDER BY waiting_id LIMIT 1`)
const anyOf = prepareStatement(`SELECT 1 FROM gh_events
  WHERE ${WAITS} AND scope = ? ORDER BY waiting_id LIMIT 1`)
const any = prepareStatement(`SELECT 1 FROM gh_events
  WHERE ${WAITS} ORDER BY waiting_id LIMIT 1`)

/** Whether deliveries wait: of a registration by its number, otherwise of a scope, or of all. */
export async function hasWaiting(
  from: Reader,
  { no, scope }: { readonly no?: number | undefined; readonly scope?: Scope | undefined },
): Promise<boolean> {
  const ofScope = scope === undefined ? any([]) : anyOf([scope])
  return (await from.arrays(no === undefined ? ofScope : anyFor([no]))).length > 0
}

/** Counts the waiting deliveries of all registrations, at most `most`. */
export const countAllWaiting = async (from: Reader, most: number): Promise<number> =>
  Number((await from.arrays(countAll([most])))[0]![0])
