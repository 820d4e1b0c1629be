/** `POST /deliveries/{id}/resend` (§9.10): one delivery, once more. */
import { RETENTION_MS } from '../deliveries/retry-schedule.ts'
import { Failure } from '../kernel/failure.ts'
import { lowestIdAt } from '../kernel/id.ts'
import type { Tx } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { type Authority, receives } from './authority.ts'
import type { Found } from './log.ts'
import { EVENT_IS_STORED, RESET } from './replay-store.ts'

export interface ResendDeps extends Pick<Authority, 'types'> {
  readonly clock: { now(): number }
  readonly wake: (webhookNos: readonly number[]) => void
}

const reset = fixed(
  `UPDATE gh_deliveries SET ${RESET}, next_attempt_at = ?
   WHERE no = ? AND state <> 'pending' AND ${EVENT_IS_STORED}`,
)
/** One that is due is about to be sent, or in flight. */
const hasten = fixed(
  `UPDATE gh_deliveries SET next_attempt_at = ?
   WHERE no = ? AND state = 'pending' AND next_attempt_at > ?`,
)
const whereEventIsStored = fixed(
  `SELECT 1 AS stored FROM gh_deliveries WHERE no = ? AND ${EVENT_IS_STORED}`,
)

/** Throws 409 where the registration or the event is gone, or the one may not receive the other. */
export async function resend(
  { clock, wake, types }: ResendDeps,
  tx: Tx,
  { no, cells, registration }: Found,
): Promise<void> {
  if (registration.deleted_at !== null) {
    throw new Failure('invalid_state', 'The registration of this delivery was deleted.')
  }
  const type = String(cells[EVENT_TYPE])
  if (!receives({ types }, registration, type)) {
    throw new Failure('invalid_state', `The scopes of the registration do not cover ${type}.`)
  }
  const now = clock.now()
  const done = (await tx.run(reset([now, no]))) + (await tx.run(hasten([now, no, now])))
  // Another request may have resent it between the read and the write.
  if (done === 0 && cells[STATE] !== 'pending' && !(await tx.get(whereEventIsStored([no])))) {
    throw new Failure('invalid_state', eventGone(String(cells[EVENT_ID]), now))
  }
  tx.afterCommit(() => wake([registration.no]))
}
const EVENT_ID = 1
const EVENT_TYPE = 2
const STATE = 3

/** A younger event that is not stored never was: the delivery was a test (§9.3). */
const eventGone = (eventId: string, now: number): string =>
  eventId > lowestIdAt('evt_', Math.max(0, now - RETENTION_MS))
    ? 'This was a test delivery: no event was recorded for it, so it cannot be sent again. ' +
      'Send another test.'
    : 'The event of this delivery was purged.'
