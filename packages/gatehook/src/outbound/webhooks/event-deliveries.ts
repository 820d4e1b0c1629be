/** The deliveries of events, for operators: totals of a page of events, and all of one event. */

import { type EventAccess, makerAsReader } from '../../history/events/event-access.ts'
import { matchesAny } from '../../history/events/event-pattern.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { type AttemptRecord, decodeAttempts } from '../deliveries/delivery.ts'
import {
  countByState,
  type EventKey,
  pagesOfEvent,
  type StateCount,
} from '../deliveries/event-log-store.ts'
import { listSubscriptions } from '../deliveries/registration-store.ts'
import { representationOf } from './delivery-log.ts'
import { nextReasonOf } from './next-attempt.ts'
import { eventsOf } from './registration.ts'

export interface DeliveryTotals {
  readonly total: number
  readonly delivered: number
  readonly pending: number
  readonly failed: number
  readonly paused: number
}

const NONE: DeliveryTotals = { total: 0, delivered: 0, pending: 0, failed: 0, paused: 0 }

const keyOf = (event: EventKey): string => `${event.scope} ${event.id}`

/** Counts the deliveries of events by state. */
export async function countDeliveries(
  from: Reader,
  events: readonly EventKey[],
): Promise<ReadonlyMap<string, DeliveryTotals>> {
  const totals = new Map(events.map((event) => [keyOf(event), NONE]))
  for (const row of await countByState(from, events)) {
    const key = keyOf({ scope: Number(row.scope), id: row.event_id })
    totals.set(key, addTotal(totals.get(key)!, row))
  }
  return totals
}

function addTotal(totals: DeliveryTotals, { state, active, total }: StateCount): DeliveryTotals {
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

/** Characters of the attempts of all deliveries of an event that a response has as a whole. */
const WHOLE_CHARACTERS = 524_288
/** Of other deliveries it has this many of the newest attempts. */
const NEWEST_ATTEMPTS = 10

/**
 * Reads the deliveries of one event, and why the next attempt is when it is. Beyond
 * `WHOLE_CHARACTERS`, deliveries have the newest attempts without the responses.
 */
export async function readDeliveriesOfEvent(from: Reader, event: EventKey, now: number) {
  let left = WHOLE_CHARACTERS
  const deliveries = []
  for await (const rows of pagesOfEvent(from, event)) {
    for (const row of rows) {
      const { registration_id: id, active, deleted_at, url, version } = row
      const registration = id === null ? undefined : { id, active, deleted_at }
      const all = decodeAttempts(row.attempts)
      const isWhole = (left -= row.attempts?.length ?? 0) >= 0
      const attempts = isWhole ? all : all.slice(-NEWEST_ATTEMPTS).map(withoutResponse)
      const delivery = representationOf(registration, row, attempts)
      const next_reason = nextReasonOf(delivery, row, now)
      deliveries.push({ ...delivery, url, api_version: version, next_reason })
    }
  }
  return deliveries
}

const withoutResponse = (attempt: AttemptRecord): AttemptRecord => ({
  ...attempt,
  response_headers: null,
  response_body: null,
})

/**
 * Returns the registrations that name a type. One whose scopes do not cover it has no delivery of
 * its events: `lacks` is the scope.
 */
export async function readRegistrationsNaming(
  from: Reader,
  types: EventAccess,
  { scope, type, collection }: Pick<EventKey, 'scope'> & TypedEvent,
) {
  const rows = await listSubscriptions(from, scope)
  return rows
    .filter((row) => matchesAny(eventsOf(row), type))
    .map((row) => {
      const maker = makerAsReader(row)
      const isCovered = types.covers(maker, type, collection)
      const lacks = isCovered ? null : types.scopeOf(type, maker.kind)
      return { webhook_id: row.id, url: row.url, lacks }
    })
}

interface TypedEvent {
  readonly type: string
  readonly collection: string | null
}
