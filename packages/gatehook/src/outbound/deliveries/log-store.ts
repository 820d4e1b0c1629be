/**
 * SQL of the delivery log: reads deliveries for the API (§9.10), and puts them into the queue again
 * for resend, recover and replay. `engine-store.ts` has the SQL of attempts, `outbox.ts` that of
 * new events.
 */
import { eventOf, isEventStored, lateralEvent } from '../../history/events/by-id.ts'
import { envelope } from '../../history/events/event.ts'
import {
  lateEvents,
  type RecordedRange,
  readRecorded,
} from '../../history/events/recorded-range.ts'
import type { EventHead } from '../../history/events/store.ts'
import type { StoredObjects } from '../../history/events/stored-objects.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Tx } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { fillOne, ROWS_AND_WAITING } from './backlog-store.ts'
import { NEXT_ROUND, type StoredState } from './delivery.ts'
import { deliveryIdOf } from './outbox.ts'
import { OWN } from './tables.ts'

export interface DeliveryRow {
  readonly scope: Scope
  readonly webhook_no: number
  readonly id: string
  readonly event_id: string
  readonly event_type: string
  readonly state: StoredState
  readonly next_attempt_at: number | null
  readonly created_at: number
  readonly attempts: string | null
}

const COLUMNS = `scope, webhook_no, id, event_id, event_type, state, next_attempt_at, created_at,
  attempts`
const byId = prepareStatement(
  `SELECT ${COLUMNS} FROM ${ROWS_AND_WAITING} AS d WHERE scope = ? AND id = ?`,
)
const byIdAlone = prepareStatement(`SELECT ${COLUMNS} FROM ${ROWS_AND_WAITING} AS d WHERE id = ?`)

export const findDelivery = (from: Reader, scope: Scope, id: string) =>
  from.get<DeliveryRow>(byId([scope, id]))

/** Finds a delivery of any customer. */
export const findAnyDelivery = (from: Reader, id: string) => from.get<DeliveryRow>(byIdAlone([id]))

const selectBody = (event: string) => `SELECT d.event_id, d.event_type, d.version, e.created,
  e.collection, e.shape, e.object, b.body
  FROM ${ROWS_AND_WAITING} d ${event} LEFT JOIN gh_event_bodies b
    ON b.scope = d.scope AND b.event_id = d.event_id AND b.version = d.version
  WHERE d.scope = ? AND d.id = ?`
const bodyById = prepareStatement(
  selectBody(`CROSS JOIN ${lateralEvent('$1', 'd.event_id')} AS e`),
  selectBody(`JOIN ${eventOf('d')}`),
)

interface BodyRow extends Row {
  readonly event_id: string
  readonly event_type: string
  readonly version: string
  readonly created: number
  readonly collection: string | null
  readonly shape: string
  readonly object: string
  readonly body: string | null
}

interface DeliveryBody {
  /** As the declaration of today sends it. */
  readonly text: string
  /** Whether an earlier declaration sent more members. */
  readonly isReduced: boolean
}

/** Returns the body of a delivery; undefined if its event was purged. */
export async function readBody(
  from: Reader,
  { bodyOf }: Pick<StoredObjects, 'bodyOf'>,
  scope: Scope,
  id: string,
): Promise<DeliveryBody | undefined> {
  const row = await from.get<BodyRow>(bodyById([scope, id]))
  if (!row) return undefined
  const { event_id, event_type: type, body, object } = row
  const event = { ...row, id: event_id, type, scope }
  const text = bodyOf(event)
  return { text, isReduced: text !== (body ?? envelope(event, object)) }
}

const ofEvent = prepareStatement(`SELECT w.id AS webhook_id, d.event_type, d.version AS api_version
  FROM ${ROWS_AND_WAITING} d
  JOIN gh_webhooks w ON w.scope = d.scope AND w.no = d.webhook_no
  WHERE d.scope = ? AND d.id > ? AND d.id < ? ORDER BY w.no`)

export interface PlannedDelivery {
  readonly webhook_id: string
  readonly event_type: string
  readonly api_version: string
}

/** Reads the receivers of an event; `~` sorts after every tag. */
export const readDeliveriesOfEvent = (from: Reader, scope: Scope, eventId: string) =>
  from.all<PlannedDelivery & Row>(
    ofEvent([scope, deliveryIdOf(eventId, ''), deliveryIdOf(eventId, '~')]),
  )

const newestId = prepareStatement('SELECT max(id) AS id FROM gh_deliveries WHERE webhook_no = ?')

export const findNewestDeliveryId = async (from: Reader, webhookNo: number) =>
  (await from.get<{ id: string | null }>(newestId([webhookNo])))?.id ?? undefined

export type DeliveryHead = Pick<DeliveryRow, 'id' | 'event_type' | 'state'>

const latePage = prepareStatement(`SELECT d.id, d.event_type, d.state FROM ${lateEvents}
  JOIN gh_deliveries d ON d.scope = e.scope AND d.id = 'dlv_' || substr(e.id, 5) || ?
  ORDER BY d.id LIMIT ?`)
const page = prepareStatement(`SELECT id, event_type, state FROM gh_deliveries
  WHERE webhook_no = ? AND id > ? AND id <= ?
    AND (id > ? AND created_at >= ? OR created_at >= ?) ORDER BY id LIMIT ?`)

/** Deliveries that got rows later have the time of their events, in seconds. */
const wholeSecond = (ms: number): number => Math.floor(ms / 1000) * 1000

/** Reads deliveries of a registration whose events were recorded in a range. */
export const readDeliveryPage = (
  reader: Reader,
  { scope, no, tag }: Pick<QueueTarget, 'scope' | 'no' | 'tag'>,
  range: RecordedRange,
) =>
  readRecorded<DeliveryHead>(reader, scope, 'dlv_', range, {
    late: (from, values, limit) => from.all(latePage([...values, tag, limit])),
    others: (from, { after, until, first, sinceMs, limit }) =>
      from.all(page([no, after, until, first, wholeSecond(sinceMs), sinceMs, limit])),
  })

/** Reads the ids of those events whose delivery is pending. */
export async function readPendingEventIds(
  from: Reader,
  { scope, no, tag }: Pick<QueueTarget, 'scope' | 'no' | 'tag'>,
  events: readonly Pick<EventHead, 'id'>[],
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set()
  const ids = join(events.map(({ id }) => sql`${deliveryIdOf(id, tag)}`))
  const rows = await from.arrays(sql`SELECT event_id FROM ${raw(ROWS_AND_WAITING)} AS d
    WHERE scope = ${scope} AND webhook_no = ${no} AND id IN (${ids}) AND state = 'pending'`)
  return new Set(rows.map(([id]) => id as string))
}

/** SET clause: pending, at the start of another round of attempts. */
const RESET = `state = 'pending', attempt = ${NEXT_ROUND}, failed = NULL`
const EVENT_IS_STORED = isEventStored('gh_deliveries')

const reset = prepareStatement(`UPDATE gh_deliveries SET ${RESET}, next_attempt_at = ?
  WHERE scope = ? AND id = ? AND state <> 'pending' AND ${EVENT_IS_STORED}`)
/** Skips a due delivery, which is about to be sent or in flight. */
const advance = prepareStatement(`UPDATE gh_deliveries SET next_attempt_at = ?
  WHERE scope = ? AND id = ? AND state = 'pending' AND next_attempt_at > ?`)
const withStoredEvent = prepareStatement(
  `SELECT 1 AS stored FROM gh_deliveries WHERE scope = ? AND id = ? AND ${EVENT_IS_STORED}`,
)

/** Makes one delivery due now. Returns false when its event is not stored. */
export async function requeueDelivery(
  tx: Tx,
  { scope, id, webhook_no: no }: Pick<DeliveryRow, 'scope' | 'id' | 'webhook_no'>,
  now: number,
): Promise<boolean> {
  await fillOne(tx, { scope, no }, id)
  const resetCount = await tx.run(reset([now, scope, id]))
  const changedCount = resetCount + (await tx.run(advance([now, scope, id, now])))
  // Another request may have resent it between the read and the write.
  return changedCount > 0 || (await tx.get(withStoredEvent([scope, id]))) !== undefined
}

interface QueueTarget {
  readonly no: number
  readonly scope: Scope
  readonly tag: string
  readonly api_version: string
}

/**
 * Makes the deliveries of these events due now, and inserts those that do not exist. Returns how
 * many were not pending before.
 */
export async function requeueEvents(
  tx: Tx,
  { scope, no, tag, api_version: version }: QueueTarget,
  events: readonly EventHead[],
  now: number,
): Promise<number> {
  if (events.length === 0) return 0
  const pendingIds = await readPendingEventIds(tx, { scope, no, tag }, events)
  const ended = events.filter(({ id }) => !pendingIds.has(id))
  if (ended.length === 0) return 0
  const values = ended.map(
    ({ id, type, created, recorded_at }) =>
      sql`(${deliveryIdOf(id, tag)}, ${scope}, ${no}, ${id}, ${type}, ${version}, ${now},
          ${recorded_at ?? created * 1000})`,
  )
  return tx.run(sql`INSERT INTO gh_deliveries
    (id, scope, webhook_no, event_id, event_type, version, next_attempt_at, created_at)
    VALUES ${join(values)}
    ON CONFLICT (scope, id) DO UPDATE SET ${raw(RESET)},
      version = excluded.version, next_attempt_at = excluded.next_attempt_at
    WHERE gh_deliveries.state <> 'pending'`)
}

/** Makes failed and exhausted deliveries due now. Returns how many. */
export async function requeueFailed(
  tx: Tx,
  scope: Scope,
  deliveries: readonly DeliveryHead[],
  now: number,
): Promise<number> {
  if (deliveries.length === 0) return 0
  const ids = join(deliveries.map(({ id }) => sql`${id}`))
  return tx.run(sql`UPDATE gh_deliveries SET ${raw(RESET)}, next_attempt_at = ${now}
    WHERE scope = ${scope} AND id IN (${ids}) AND state IN ('failed', 'exhausted')
      AND ${raw(EVENT_IS_STORED)}`)
}

/** Bounds the transaction. A registration rarely has more: the breaker and holds postpone few. */
const ADVANCE_MAX = 10_000
const advanceAll = prepareStatement(`UPDATE gh_deliveries SET next_attempt_at = ?
  WHERE scope = ? AND state = 'pending' AND id IN
    (SELECT id FROM gh_deliveries WHERE scope = ? AND ${OWN} = ? AND next_attempt_at > ?
     ORDER BY next_attempt_at LIMIT ${ADVANCE_MAX})`)

/** Makes the postponed deliveries of a registration due now, oldest first. */
export const advanceDeliveries = (
  tx: Tx,
  { scope, no }: Pick<QueueTarget, 'scope' | 'no'>,
  now: number,
): Promise<number> => tx.run(advanceAll([now, scope, scope, no, now]))

const insertTest = prepareStatement(`INSERT INTO gh_deliveries
    (id, scope, webhook_no, event_id, event_type, version, state, attempt, created_at, attempts)
  VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`)

interface TestDelivery extends Pick<DeliveryRow, 'id' | 'event_id' | 'event_type'> {
  readonly state: 'delivered' | 'failed'
  readonly created_at: number
  /** The encoded attempt. */
  readonly attempts: string
}

/** Inserts a test delivery with its only attempt (§9.3). */
export function insertTestDelivery(
  tx: Tx,
  { scope, no, api_version: version }: QueueTarget,
  test: TestDelivery,
): Promise<number> {
  const { id, event_id, event_type, state, created_at, attempts } = test
  const values = [id, scope, no, event_id, event_type, version, state, created_at, attempts]
  return tx.run(insertTest(values))
}
