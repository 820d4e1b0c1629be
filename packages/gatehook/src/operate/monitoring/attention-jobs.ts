/** Jobs that need the attention of an operator. */
import { isoTime } from '../../kernel/time.ts'
import {
  countFailedJobs,
  listFailingJobs,
  listLongJobs,
  listWaitingRuns,
} from '../../platform/jobs/fault-store.ts'
import { longestIntervalMs, nextRunAfter, type RunInput } from '../../platform/jobs/schedule.ts'
import { type AttentionKind, itemOf } from './attention-kind.ts'
import { ITEMS_MAX } from './attention-store.ts'

/** Older failures remain in the list of jobs. */
const JOBS_FAILED_WITHIN_MS = 7 * 86_400_000
/** Failed jobs that one reading of the list counts. */
const FAILED_JOBS_MAX = 1_000
/** Waiting jobs that one reading of the list examines. */
const WAITING_JOBS_MAX = 5_000
const ERROR_CHARACTERS = 200

export const failedJobs: AttentionKind = async ({ db }, now) => {
  const sinceMs = now - JOBS_FAILED_WITHIN_MS
  const bounds = { jobs: FAILED_JOBS_MAX, names: ITEMS_MAX }
  const rows = await countFailedJobs(db, { lane: 'service', sinceMs, ...bounds })
  return rows.map(({ name, failed, first_at, last_at }) =>
    itemOf('jobs_failed', 'bad', Number(first_at), {
      subject: { type: 'job', id: name, label: name },
      facts: { failed: Number(failed), last_at: isoTime(Number(last_at)) },
    }),
  )
}

/** Mail has an alert: strangers choose some of its recipients. */
const RETRIED_LANES = ['deletion', 'fill', 'index', 'service', 'request', 'replay'] as const

/** Jobs whose last attempt failed, and which run again. */
export const failingJobs: AttentionKind = async ({ db }, now) => {
  const rows: Awaited<ReturnType<typeof listFailingJobs>> = []
  for (const lane of RETRIED_LANES) {
    rows.push(...(await listFailingJobs(db, { lane, jobs: WAITING_JOBS_MAX })))
  }
  return rows.slice(0, ITEMS_MAX).map(({ name, waiting, created_at, error }) =>
    itemOf('jobs_failing', 'warn', Math.min(Number(created_at), now), {
      subject: { type: 'job', id: name, label: name },
      facts: { waiting: Number(waiting), error: error.slice(0, ERROR_CHARACTERS) },
    }),
  )
}

/** A job runs for long after this part of the time after which its attempt fails. */
const LONG_SHARE = 0.5
/** A shorter time says little. */
const LONG_MIN_MS = 10_000

/** Jobs that run longer than half of their limit: most of them wait for something. */
export const longJobs: AttentionKind = async ({ db, jobTimeoutMs }, now) => {
  const rows = await listLongJobs(db, { lane: 'service', sinceMs: now - LONG_MIN_MS })
  const items = rows.flatMap(({ name, running, started_at }) => {
    const timeoutMs = jobTimeoutMs(name)
    const startedMs = Number(started_at)
    if (timeoutMs === undefined || now - startedMs < LONG_SHARE * timeoutMs) return []
    return itemOf('jobs_long', 'warn', startedMs, {
      subject: { type: 'job', id: name, label: name },
      facts: { running: Number(running), limit_s: timeoutMs / 1000 },
    })
  })
  return items.slice(0, ITEMS_MAX)
}

/** Intervals of a recurring job without a run. */
const MISSED_INTERVALS = 2
/** Shorter delays say little. */
const LATE_MIN_MS = 30_000

/** Recurring jobs whose next run is long due, or further ahead than their schedule allows. */
export const lateSchedules: AttentionKind = async ({ db }, now) => {
  const rows = await listWaitingRuns(db)
  const items = rows.flatMap(({ name, run_at, input }) => {
    const { every } = JSON.parse(input) as RunInput
    const runAt = Number(run_at)
    const limitMs = Math.max(LATE_MIN_MS, MISSED_INTERVALS * longestIntervalMs(every, now))
    // A schedule of the night has no run for a day.
    const expectedAt = runAt > now ? nextRunAfter(every, now) : now
    if (Math.abs(runAt - expectedAt) <= limitMs) return []
    return itemOf('schedule_late', 'warn', Math.min(runAt, now), {
      subject: { type: 'job', id: name, label: name },
      facts: { every, next_at: isoTime(runAt), is_due: runAt <= now },
    })
  })
  return items.slice(0, ITEMS_MAX)
}
