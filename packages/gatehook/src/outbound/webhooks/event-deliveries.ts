/** The deliveries of events, for operators: totals of a page of events, and all of one event. */

import type { EventAccess } from '../../history/events/event-access.ts'
import { matchesAny } from '../../history/events/event-pattern.ts'
import type { Reader, Row } from '../../platform/storage/database.ts'
import { join, prepareStatement, sql } from '../../platform/storage/sql.ts'
import { decodeAttempts } from '../deliveries/delivery.ts'
import type { DeliveryRow } from '../deliveries/log-store.ts'
import { deliveryIdOf } from '../deliveries/outbox.ts'
import { representationOf } from './delivery-log.ts'
import { type EndpointFacts, nextReasonOf } from './next-attempt.ts'
import { eventsOf, type Registration, scopesOf } from './registration.ts'

export interface DeliveryTotals {
  readonly total: number
  readonly delivered: number
  readonly pending: number
  readonly failed: number
  readonly paused: number
}

/** An event by its scope and id. */
export interface EventKey {
  readonly scope: number
  readonly id: string
}

type TotalRow = Row & {
  readonly scope: number
  readonly event_id: string
  readonly state: string
  readonly active: number
  readonly total: number
}

const NONE: DeliveryTotals = { total: 0, delivered: 0, pending: 0, failed: 0, paused: 0 }

/** The ids of the deliveries of an event lie between these; `~` sorts after every tag. */
const rangeOf = (eventId: string) => [deliveryIdOf(eventId, ''), deliveryIdOf(eventId, '~')]

const keyOf = (event: EventKey): string => `${event.scope} ${event.id}`

/** Counts the deliveries of events by state; a scope has at most 50 registrations. */
export async function countDeliveries(
  from: Reader,
  events: readonly EventKey[],
): Promise<ReadonlyMap<string, DeliveryTotals>> {
  const totals = new Map(events.map((event) => [keyOf(event), NONE]))
  if (events.length === 0) return totals
  const ranges = join(
    events.map(({ scope, id }) => {
      const [low, high] = rangeOf(id)
      return sql`(CAST(${scope} AS BIGINT), CAST(${low} AS TEXT), CAST(${high} AS TEXT))`
    }),
  )
  const rows = await from.all<TotalRow>(sql`SELECT d.scope, d.event_id, d.state,
      COALESCE(w.active, 1) AS active, COUNT(*) AS total
    FROM (VALUES ${ranges}) AS e
    JOIN gh_deliveries d ON d.scope = e.column1 AND d.id > e.column2 AND d.id < e.column3
    LEFT JOIN gh_webhooks w ON w.scope = d.scope AND w.no = d.webhook_no
    GROUP BY d.scope, d.event_id, d.state, COALESCE(w.active, 1)`)
  for (const row of rows) {
    const key = keyOf({ scope: Number(row.scope), id: row.event_id })
    totals.set(key, addTotal(totals.get(key)!, row))
  }
  return totals
}

function addTotal(totals: DeliveryTotals, { state, active, total }: TotalRow): DeliveryTotals {
  const count = Number(total)
  const name =
    state === 'delivered'
      ? 'delivered'
      : state !== 'pending'
        ? 'failed'
        : Number(active) === 1
          ? 'pending'
          : 'paused'
  return { ...totals, total: totals.total + count, [name]: totals[name] + count }
}

export const totalsOf = (
  totals: ReadonlyMap<string, DeliveryTotals>,
  event: EventKey,
): DeliveryTotals => totals.get(keyOf(event)) ?? NONE

type JoinedRow = Row &
  DeliveryRow &
  Pick<Registration, 'url' | 'active' | 'deleted_at'> &
  EndpointFacts & { readonly registration_id: string | null; readonly version: string }

const ofEvent = prepareStatement(`SELECT d.scope, d.webhook_no, d.id, d.event_id, d.event_type,
    d.state, d.next_attempt_at, d.created_at, d.attempts, d.version, w.id AS registration_id,
    w.url, w.active, w.deleted_at, w.hold_until, o.breaker, o.breaker_until
  FROM gh_deliveries d
  LEFT JOIN gh_webhooks w ON w.scope = d.scope AND w.no = d.webhook_no
  LEFT JOIN gh_webhook_outcomes o ON o.scope = d.scope AND o.webhook_no = d.webhook_no
  WHERE d.scope = ? AND d.id > ? AND d.id < ? ORDER BY d.id`)

/** Reads the deliveries of one event with their attempts, and why the next one is when it is. */
export async function readDeliveriesOfEvent(from: Reader, event: EventKey, now: number) {
  const [low, high] = rangeOf(event.id)
  const rows = await from.all<JoinedRow>(ofEvent([event.scope, low!, high!]))
  return rows.map((row) => {
    const { registration_id: id, active, deleted_at, url, version } = row
    const registration = id === null ? undefined : { id, active, deleted_at }
    const delivery = representationOf(registration, row, decodeAttempts(row.attempts))
    const next_reason = nextReasonOf(delivery, row, now)
    return { ...delivery, url, api_version: version, next_reason }
  })
}

const registrationsOf = prepareStatement(`SELECT id, url, events, scopes
  FROM gh_webhooks WHERE scope = ? AND deleted_at IS NULL ORDER BY id`)

/**
 * Returns the registrations that name a type. One whose scopes do not cover it has no delivery of
 * its events: `lacks` is the scope.
 */
export async function readRegistrationsNaming(
  from: Reader,
  types: EventAccess,
  { scope, type, collection }: Pick<EventKey, 'scope'> & TypedEvent,
) {
  const rows = await from.all<Row & Registration>(registrationsOf([scope]))
  return rows
    .filter((row) => matchesAny(eventsOf(row), type))
    .map((row) => ({
      webhook_id: row.id,
      url: row.url,
      lacks: types.covers(new Set(scopesOf(row)), type, collection) ? null : types.scopeOf(type),
    }))
}

interface TypedEvent {
  readonly type: string
  readonly collection: string | null
}
