/**
 * Purges ended jobs, and fails those that no node runs. Works in slices, so that transactions are
 * short.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database, Tx } from '../storage/database.ts'
import { failOverdue, purgeEnded, purgeOverdueRuns, SLICE } from './store.ts'

const DAY_MS = 86_400_000
/** A job is listed for this time after its end. */
const DONE_RETENTION_MS = DAY_MS
const FAILED_RETENTION_MS = 30 * DAY_MS
/** A job fails that no node has run within this time: the service declares it no more. */
const OVERDUE_MS = 30 * DAY_MS
/** Slices of one run. */
const SLICES_MAX = 100

/** Returns the number of purged rows. */
export async function purgeJobs(db: Database, clock: Clock): Promise<number> {
  const now = clock.now()
  const reason = 'No node ran the job within 30 days. Does the service still declare it?'
  const runCount = await inSlices(db, (tx) => purgeOverdueRuns(tx, now - OVERDUE_MS))
  await inSlices(db, (tx) => failOverdue(tx, now - OVERDUE_MS, now, reason))
  return (
    runCount +
    (await inSlices(db, (tx) => purgeEnded(tx, 'done', now - DONE_RETENTION_MS))) +
    (await inSlices(db, (tx) => purgeEnded(tx, 'failed', now - FAILED_RETENTION_MS))) +
    (await inSlices(db, (tx) => purgeEnded(tx, 'canceled', now - FAILED_RETENTION_MS)))
  )
}

async function inSlices(db: Database, change: (tx: Tx) => Promise<number>): Promise<number> {
  let total = 0
  for (let slice = 0; slice < SLICES_MAX; slice++) {
    const count = await db.write(change)
    total += count
    if (count < SLICE) break
  }
  return total
}
