/** SQL of jobs that failed, that are retried, and that run for long. */
import type { Reader, Row } from '../storage/database.ts'
import { sql } from '../storage/sql.ts'
import type { Lane } from './job.ts'

/** Finds the job of a lane that failed last. */
export const findLastFailedJob = (from: Reader, lane: Lane) =>
  from.get<{ name: string; error: string | null }>(sql`SELECT name, error FROM gh_jobs
    WHERE lane = ${lane} AND state = 'failed' AND ended_at IS NOT NULL
    ORDER BY ended_at DESC LIMIT 1`)

interface FailedJobsRow extends Row {
  readonly name: string
  readonly failed: number
  readonly first_at: number
  readonly last_at: number
}

/** The names of a lane's jobs that failed since an instant, and how many of the newest it has. */
export const countFailedJobs = (
  from: Reader,
  { lane, sinceMs, jobs, names }: Record<'sinceMs' | 'jobs' | 'names', number> & { lane: Lane },
) =>
  from.all<FailedJobsRow>(sql`SELECT name, COUNT(*) AS failed, MIN(ended_at) AS first_at,
      MAX(ended_at) AS last_at
    FROM (SELECT name, ended_at FROM gh_jobs WHERE lane = ${lane} AND state = 'failed'
      AND ended_at IS NOT NULL AND ended_at >= ${sinceMs}
      ORDER BY ended_at DESC LIMIT ${jobs}) AS newest
    GROUP BY name ORDER BY failed DESC, name LIMIT ${names}`)

interface FailingJobsRow {
  readonly name: string
  readonly waiting: number
  readonly created_at: number
  readonly error: string
}

/**
 * Returns the names of a lane's jobs that wait for a further attempt after a failed one, with their
 * number, the oldest instant and the highest error, of the next ones.
 */
export const listFailingJobs = (
  from: Reader,
  { lane, jobs }: { readonly lane: Lane; readonly jobs: number },
) =>
  from.all<FailingJobsRow>(sql`SELECT name, COUNT(*) AS waiting, MIN(created_at) AS created_at,
      MAX(error) AS error
    FROM (SELECT name, attempt, error, created_at FROM gh_jobs WHERE lane = ${lane}
      AND state = 'waiting' AND blocked = 0 ORDER BY run_at, no LIMIT ${jobs}) AS next
    WHERE attempt > 0 AND error IS NOT NULL GROUP BY name ORDER BY waiting DESC, name`)

interface RunningJobsRow extends Row {
  readonly name: string
  readonly running: number
  readonly started_at: number
}

/** Returns the names of jobs that run since an instant or longer, the longest first. */
export const listLongJobs = (
  from: Reader,
  { lane, sinceMs }: { readonly lane: Lane; readonly sinceMs: number },
) =>
  from.all<RunningJobsRow>(sql`SELECT name, COUNT(*) AS running, MIN(started_at) AS started_at
    FROM gh_jobs WHERE state = 'running' AND lane = ${lane} AND started_at <= ${sinceMs}
    GROUP BY name ORDER BY started_at, name`)

interface WaitingRunRow extends Row {
  readonly name: string
  readonly run_at: number
  /** See `RunInput`. */
  readonly input: string
}

/** Recurring jobs that are examined. */
const RECURRING_MAX = 200

/** Returns the next runs of recurring jobs that have had no attempt. */
export const listWaitingRuns = (from: Reader) =>
  from.all<WaitingRunRow>(sql`SELECT name, run_at, input FROM gh_jobs
    WHERE schedule IS NOT NULL AND scope IS NULL AND state = 'waiting' AND attempt = 0
    ORDER BY schedule LIMIT ${RECURRING_MAX}`)
