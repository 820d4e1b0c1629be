/**
 * SQL of the deliveries of events, for operators: their counts by state, those of one event, and
 * conditions of lists. `log-store.ts` has the deliveries of one registration.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import { WAITING_EVENTS } from '../../history/events/waiting.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, prepareStatement, raw, sql } from '../../platform/storage/sql.ts'
import { ROWS_AND_WAITING } from './backlog-store.ts'
import { ATTEMPTS_READ_ROWS, type DeliveryState } from './delivery.ts'
import type { DeliveryRow } from './log-store.ts'
import { deliveryIdOf } from './outbox.ts'
import type { Registration } from './registration-store.ts'

/** An event by its scope and id. */
export interface EventKey {
  readonly scope: number
  readonly id: string
}

/** The ids of the deliveries of an event lie between these; `~` sorts after every tag. */
const rangeOf = (eventId: string) =>
  [deliveryIdOf(eventId, ''), deliveryIdOf(eventId, '~')] as const

export interface StateCount extends Row {
  readonly scope: number
  readonly event_id: string
  readonly state: string
  /** Whether the registration is active; 1 if it was purged. */
  readonly active: number
  readonly total: number
}

/** Counts the deliveries of events by state; a scope has at most 50 registrations. */
export async function countByState(
  from: Reader,
  events: readonly EventKey[],
): Promise<readonly StateCount[]> {
  if (events.length === 0) return []
  const ranges = join(
    events.map(({ scope, id }) => {
      const [low, high] = rangeOf(id)
      return sql`(CAST(${scope} AS BIGINT), CAST(${low} AS TEXT), CAST(${high} AS TEXT))`
    }),
  )
  const ids = join(
    events.map(({ scope, id }) => sql`(CAST(${scope} AS BIGINT), CAST(${id} AS TEXT))`),
  )
  const rows = from.all<StateCount>(sql`SELECT d.scope, d.event_id, d.state,
      COALESCE(w.active, 1) AS active, COUNT(*) AS total
    FROM (VALUES ${ranges}) AS e
    JOIN gh_deliveries d ON d.scope = e.column1 AND d.id > e.column2 AND d.id < e.column3
    LEFT JOIN gh_webhooks w ON w.scope = d.scope AND w.no = d.webhook_no
    GROUP BY d.scope, d.event_id, d.state, COALESCE(w.active, 1)`)
  const waiting = from.all<StateCount>(sql`SELECT e.scope, e.id AS event_id, 'pending' AS state,
      COALESCE(w.active, 1) AS active, 1 AS total
    FROM (VALUES ${ids}) AS wanted
    JOIN ${raw(WAITING_EVENTS)} AS e ON e.scope = wanted.column1 AND e.id = wanted.column2
    LEFT JOIN gh_webhooks w ON w.scope = e.scope AND w.no = e.waits_for`)
  return [...(await rows), ...(await waiting)]
}

/** A delivery with its registration and the health of its endpoint, null if they were purged. */
type DeliveryOfEvent = Row &
  DeliveryRow &
  Pick<Registration, 'url' | 'active' | 'deleted_at'> & {
    readonly version: string
    readonly registration_id: string | null
    readonly hold_until: number | null
    readonly breaker: string | undefined
    readonly breaker_until: number | null | undefined
  }

const ofEvent = prepareStatement(`SELECT d.scope, d.webhook_no, d.id, d.event_id, d.event_type,
    d.state, d.next_attempt_at, d.created_at, d.attempts, d.version, w.id AS registration_id,
    w.url, w.active, w.deleted_at, w.hold_until, o.breaker, o.breaker_until
  FROM ${ROWS_AND_WAITING} d
  LEFT JOIN gh_webhooks w ON w.scope = d.scope AND w.no = d.webhook_no
  LEFT JOIN gh_webhook_outcomes o ON o.scope = d.scope AND o.webhook_no = d.webhook_no
  WHERE d.scope = ? AND d.id > ? AND d.id < ? ORDER BY d.id LIMIT ${ATTEMPTS_READ_ROWS}`)

/** Reads the deliveries of one event with their attempts, in pages of at most 1 MiB. */
export async function* pagesOfEvent(
  from: Reader,
  { scope, id }: EventKey,
): AsyncGenerator<readonly DeliveryOfEvent[]> {
  let [after, below] = rangeOf(id)
  for (;;) {
    const rows = await from.all<DeliveryOfEvent>(ofEvent([scope, after, below]))
    yield rows
    if (rows.length < ATTEMPTS_READ_ROWS) return
    after = rows.at(-1)!.id
    await nextTick() // other requests run between two reads
  }
}

const anyOfEvent = prepareStatement(`SELECT scope, event_type, created_at FROM gh_deliveries
  WHERE id > ? AND id < ? ORDER BY id LIMIT 1`)

/** Finds a delivery of an event of any customer, also of one that was purged. */
export const findDeliveryOfEvent = (from: Reader, eventId: string) =>
  from.get<Row & Pick<DeliveryRow, 'scope' | 'event_type' | 'created_at'>>(
    anyOfEvent([...rangeOf(eventId)]),
  )

/** Conditions of a delivery by its state; paused deliveries are pending ones of an inactive row. */
export const IN_STATE: Readonly<Record<DeliveryState, string>> = {
  pending: `state = 'pending' AND webhook_no IN
    (SELECT no FROM gh_webhooks WHERE active = 1)`,
  paused: `state = 'pending' AND webhook_no IN
    (SELECT no FROM gh_webhooks WHERE active = 0 AND deleted_at IS NULL)`,
  delivered: "state = 'delivered'",
  failed: "state = 'failed'",
  exhausted: "state = 'exhausted'",
}

const isOf = (active: 0 | 1, scope: string, no: string) => `EXISTS
  (SELECT 1 FROM gh_webhooks w WHERE w.scope = ${scope} AND w.no = ${no} AND w.active = ${active})`
const ofActive = (active: 0 | 1) =>
  `d.state = 'pending' AND ${isOf(active, 'd.scope', 'd.webhook_no')}`
const AMONG_DELIVERIES = {
  delivered: "d.state = 'delivered'",
  failed: "d.state IN ('failed', 'exhausted')",
  pending: ofActive(1),
  paused: ofActive(0),
} as const

/** The columns of an event that `hasDeliveryIn` reads. */
export const STATE_COLUMNS = ['scope', 'id', 'waits_for']

/** The condition that an event has a delivery in a state; `event` is the name of its row. */
export function hasDeliveryIn(state: keyof typeof AMONG_DELIVERIES, event: string): string {
  const prefix = `'dlv_' || substr(${event}.id, 5)`
  const hasRow = `EXISTS (SELECT 1 FROM gh_deliveries d WHERE d.scope = ${event}.scope
    AND d.id > ${prefix} AND d.id < ${prefix} || '~' AND ${AMONG_DELIVERIES[state]})`
  if (state === 'delivered' || state === 'failed') return hasRow
  const waits = isOf(state === 'pending' ? 1 : 0, `${event}.scope`, `${event}.waits_for`)
  return `(${hasRow} OR ${waits})`
}
