/** `POST /deliveries/{id}/resend` (§9.10): makes one delivery due again. */

import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { lowestIdAt } from '../../kernel/id.ts'
import type { Tx } from '../../platform/storage/database.ts'
import { requeueDelivery } from '../deliveries/log-store.ts'
import { RETENTION_MS } from '../deliveries/retry-schedule.ts'
import type { WakeDeliveries } from '../deliveries/wake-up.ts'
import { type Authority, canReceive } from './authority.ts'
import type { LoggedDelivery } from './delivery-log.ts'

interface ResendDeps extends Pick<Authority, 'types'> {
  readonly clock: Clock
  readonly wake: WakeDeliveries
}

/**
 * Resends a delivery with a whole schedule of attempts, the first of which waits for no circuit
 * breaker. Throws 409 `invalid_state` if the
 * registration was deleted, its scopes do not cover the type, or the event is not stored.
 */
export async function resend(
  { clock, wake, types }: ResendDeps,
  tx: Tx,
  { row, registration }: LoggedDelivery,
): Promise<void> {
  if (registration.deleted_at !== null) {
    throw new Failure('invalid_state', 'The registration of this delivery was deleted.')
  }
  const { event_type: type, event_id: eventId } = row
  if (!canReceive({ types }, registration, type)) {
    throw new Failure('invalid_state', `The scopes of the registration do not cover ${type}.`)
  }
  const now = clock.now()
  const isQueued = await requeueDelivery(tx, row, now)
  if (!isQueued && row.state !== 'pending') {
    throw new Failure('invalid_state', missingEvent(eventId, now))
  }
  const request = { webhookNo: registration.no, delivery: row.id }
  tx.afterCommit(() => wake([registration.no], [request]))
}

/** Within the retention period, an event that is not stored was never recorded: a test (§9.3). */
const missingEvent = (eventId: string, now: number): string =>
  eventId > lowestIdAt('evt_', Math.max(0, now - RETENTION_MS))
    ? 'This was a test delivery: no event was recorded for it, so it cannot be resent. ' +
      'Send another test.'
    : 'The event of this delivery was purged.'
