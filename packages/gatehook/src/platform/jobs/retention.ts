/** Purges ended jobs, and fails those that no node runs. Transactions are short. */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../storage/database.ts'
import { PURGE_SLICE_ROWS, purgeExpired, purgeInSlices } from '../storage/purge.ts'
import { LANES, type Lane } from './job.ts'
import { purgeSteps } from './steps-store.ts'
import { failOverdue, OVERDUE_FOR_MS, overdueRuns } from './store.ts'
import { jobs, servedTimes } from './tables.ts'

/** A fill waits for a node whose declaration has the value, also after months. */
const ENDLESS: ReadonlySet<Lane> = new Set(['fill'])
/** Slices of one lane in one run. */
const SLICES_MAX = 100

/**
 * Returns the number of purged rows.
 *
 * @param recurring names of the recurring jobs that the service declares: their runs stay due
 *   through a quarantine or an outage, because only the end of a run stores the next one
 * @param runnableSince when the quarantine of restored data ended; infinite while it lasts. A job
 *   that it has held becomes overdue 30 days later
 */
export async function purgeJobs(
  db: Database,
  clock: Clock,
  recurring: readonly string[] = [],
  runnableSince = 0,
): Promise<number> {
  const now = clock.now()
  const reason = 'No node ran the job within 30 days. Does the service still declare it?'
  await purgeSteps(db, { now, overdueBefore: now - OVERDUE_FOR_MS })
  const purgedRuns = await purgeInSlices(db, overdueRuns(now - OVERDUE_FOR_MS, recurring))
  const canBeOverdue = runnableSince <= now - OVERDUE_FOR_MS
  for (const lane of canBeOverdue ? (Object.keys(LANES) as Lane[]) : []) {
    if (ENDLESS.has(lane)) continue
    for (let slice = 0; slice < SLICES_MAX; slice++) {
      const fail = { lane, before: now - OVERDUE_FOR_MS, now, error: reason }
      if ((await db.write((tx) => failOverdue(tx, fail))) < PURGE_SLICE_ROWS) break
    }
  }
  return purgedRuns + (await purgeExpired(db, [jobs, servedTimes], now))
}
