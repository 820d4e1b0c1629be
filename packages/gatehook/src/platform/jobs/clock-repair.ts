/**
 * Repairs jobs that a clock running ahead has postponed. After the clock is corrected, they would
 * wait for as long as it was wrong (§18.10).
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Database } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import { type JobHandler, LANES, LONGEST_RETRY_MS } from './job.ts'
import { inputOfRun, type RunInput } from './schedule.ts'
import * as store from './store.ts'

/** Clocks of nodes differ by less. */
const TOLERANCE_MS = 60_000
/** Jobs of one lane in one round. */
const SLICE = 500

/**
 * Makes jobs due that were due when they were stored, and retries that wait for longer than any
 * delay; moves the next runs of recurring jobs to their next due times. A job that own code has
 * given an instant keeps it. Returns how many were changed.
 */
export async function repairPostponedJobs(
  db: Database,
  clock: Clock,
  handlers: readonly JobHandler[],
): Promise<number> {
  const now = clock.now()
  let count = 0
  for (const lane of Object.keys(LANES)) {
    // A read comes first: on SQLite, a write keeps all others waiting.
    const rows = await db.all<{ no: number }>(sql`SELECT no FROM gh_jobs
      WHERE state = 'waiting' AND blocked = 0 AND lane = ${lane} AND schedule IS NULL
        AND run_at > ${now + TOLERANCE_MS} AND (run_at = created_at
          OR (attempt > 0 AND error IS NOT NULL AND run_at > ${now + LONGEST_RETRY_MS}))
      LIMIT ${SLICE}`)
    for (const { no } of rows) count += await db.write((tx) => store.moveJob(tx, no, now))
  }
  for (const handler of handlers) count += await repairRun(db, handler, now)
  return count
}

/** Without a clock that was ahead, no run waits beyond the next due time. */
async function repairRun(
  db: Database,
  { name, schedule }: JobHandler,
  now: number,
): Promise<number> {
  if (!schedule) return 0
  const dueAt = schedule.next(now)
  const run = await store.findScheduledRun(db, name)
  if (!run || run.run_at <= dueAt + TOLERANCE_MS) return 0
  const { after } = JSON.parse(run.input) as RunInput
  if (after !== undefined) return db.write((tx) => store.moveJob(tx, run.no, now))
  const input = inputOfRun(schedule.expression, dueAt)
  return db.write((tx) => store.rescheduleRun(tx, run.no, input, dueAt))
}
