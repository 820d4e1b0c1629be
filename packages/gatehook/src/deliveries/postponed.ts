/**
 * What a clock that ran ahead has put off: once it is set right, deliveries would wait for as long
 * as it was wrong. Nothing pending waits longer than the schedule says; what does is due (§9.12).
 */
import type { Clock } from '../kernel/clock.ts'
import type { Database } from '../storage/database.ts'
import { fixed } from '../storage/sql.ts'
import { WITH_ENDPOINTS } from './delivery-store.ts'

/** Rows of one transaction. */
const SLICE = 500

const putOff = fixed(`${WITH_ENDPOINTS}
  SELECT e.no FROM e WHERE (SELECT MAX(next_attempt_at) FROM gh_deliveries d
    WHERE d.state = 'pending' AND d.webhook_no = e.no) > ?`)

const bringForward = fixed(`UPDATE gh_deliveries SET next_attempt_at = ? WHERE no IN
  (SELECT no FROM gh_deliveries WHERE webhook_no = ? AND state = 'pending' AND next_attempt_at > ?
   ORDER BY next_attempt_at LIMIT ${SLICE})`)

/** A chore: gives how many are due now that were not. `longestMs`: see `longestWaitMs`. */
export async function endPostponement(
  db: Database,
  clock: Clock,
  longestMs: number,
): Promise<number> {
  const now = clock.now()
  let brought = 0
  for (const [no] of await db.arrays(putOff([now + longestMs]))) {
    for (let some = SLICE; some === SLICE; brought += some) {
      some = await db.write((tx) => tx.run(bringForward([now, no, now + longestMs])))
    }
  }
  return brought
}
