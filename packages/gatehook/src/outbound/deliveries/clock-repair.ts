/**
 * Repairs deliveries that a clock running ahead has postponed. After the clock is corrected, they
 * would wait for as long as it was wrong. A pending delivery that waits longer than the schedule
 * permits becomes due (§9.12).
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import { IS_PENDING, TIME } from './tables.ts'

/** Rows of one transaction. */
const SLICE = 500

/** The index by time finds these rows: without any, it reads one entry. */
const makeDue = prepareStatement(`UPDATE gh_deliveries SET next_attempt_at = ?
  WHERE state = 'pending' AND (scope, id) IN (SELECT scope, id FROM gh_deliveries
    WHERE ${IS_PENDING} AND ${TIME} > ? ORDER BY ${TIME} LIMIT ${SLICE})`)

/**
 * Makes over-postponed deliveries due; returns how many.
 *
 * @param longestMs longest wait that the schedule permits, from `longestWaitMs`
 */
export async function repairPostponed(
  db: Database,
  clock: Clock,
  longestMs: number,
): Promise<number> {
  const now = clock.now()
  let repairedCount = 0
  for (let count = SLICE; count === SLICE; repairedCount += count) {
    count = await db.write((tx) => tx.run(makeDue([now, now + longestMs])), { single: true })
  }
  return repairedCount
}
