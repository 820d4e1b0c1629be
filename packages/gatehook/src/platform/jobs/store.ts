/** SQL of jobs. */
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Row, Statement, Tx } from '../storage/database.ts'
import { PURGE_SLICE_ROWS } from '../storage/purge.ts'
import { join, prepareStatement, raw, sql } from '../storage/sql.ts'
import {
  type ClaimedJob,
  DONE_CUSTOMER_RUN_MS,
  type DueJob,
  ENGINE,
  groupOf,
  isCustomerRun,
  isPersonalLane,
  type JobKind,
  type Lane,
  type NewJob,
  policyOf,
} from './job.ts'

type JobInsert = Omit<NewJob, 'runAt' | 'isMerged' | 'isSameWork'> & {
  readonly id: string
  /** Whether a job with its row key has not ended. */
  readonly isBlocked?: boolean
  readonly runAt: number
  readonly createdAt: number
}

const insert = prepareStatement(`INSERT INTO gh_jobs
  (id, kind, lane, name, scope, subject, caller_group, caller, input, run_at, row_key, blocked,
    schedule, created_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (schedule) WHERE schedule IS NOT NULL DO NOTHING`)

/** Inserts a job; a recurring one only if none of its runs waits. */
export const insertJob = (tx: Tx, { caller = ENGINE, ...job }: JobInsert) =>
  tx.run(
    insert([
      job.id,
      job.kind,
      policyOf(job.kind).lane,
      job.name,
      job.scope ?? null,
      job.subject ?? null,
      // The runs of a recurring job for its customers share one turn: they are many at once.
      groupOf(job.schedule === undefined ? job.scope : undefined, caller),
      caller.name,
      job.input,
      job.runAt,
      job.rowKey ?? null,
      job.isBlocked ? 1 : 0,
      job.schedule ?? null,
      job.createdAt,
    ]),
  )

const lastOf = prepareStatement(`SELECT id, state, input FROM gh_jobs
  WHERE row_key = ? AND ended_at IS NULL ORDER BY no DESC LIMIT 1`)

/** Locks the last job of a row key that has not ended: its end then sees the new job. */
export const lockLastOf = (tx: Tx, rowKey: string) =>
  tx.lock<{ id: string; state: string; input: string }>(lastOf([rowKey]))

const unblock = prepareStatement(`UPDATE gh_jobs SET blocked = 0 WHERE blocked = 1
  AND no = (SELECT MIN(no) FROM gh_jobs WHERE row_key = ? AND ended_at IS NULL)`)

/** Makes the next job of a row key due, after one has ended. */
async function unblockNext(tx: Tx, rowKey: string | null): Promise<void> {
  if (rowKey !== null) await tx.run(unblock([rowKey]))
}

export interface DueJobQuery {
  readonly lane: Lane
  readonly names: readonly string[]
  readonly now: number
  readonly limit: number
}

/**
 * A job with a row key is due once those before it have ended: it is blocked until then, but for
 * two that were inserted at the same time, and one that is retried. The expression around the name
 * has both databases read in the order of `run_at`, and end at the limit.
 */
export const isDue = ({ lane, names, now }: DueJobQuery) => sql`j.lane = ${lane} AND j.blocked = 0
  AND j.run_at <= ${now}
  AND COALESCE(j.name, '') IN (${join(names.map((name) => sql`${name}`))})
  AND (j.row_key IS NULL OR NOT EXISTS (SELECT 1 FROM gh_jobs e
    WHERE e.row_key = j.row_key AND e.no < j.no AND e.ended_at IS NULL))`

const selectJobs = sql`SELECT j.no, j.id, j.kind, j.name, j.scope, j.row_key, j.input,
  j.attempt + 1 AS attempt, j.schedule, j.caller_group, j.caller FROM gh_jobs j`

const nextDue = (lane: Lane, names: readonly string[], after: Statement) =>
  sql`(SELECT j.run_at FROM gh_jobs j WHERE j.state = 'waiting' AND j.blocked = 0
    AND j.lane = ${lane} ${after}
    AND COALESCE(j.name, '') IN (${join(names.map((name) => sql`${name}`))})
    ORDER BY j.run_at, j.no LIMIT 1)`

/** SQL of the instant at which the next job is due; null if none waits. */
export const selectNextDue = (lane: Lane, names: readonly string[]) => nextDue(lane, names, raw(''))

/** Reads when the next job will be due; null if none waits for its time. */
export const readNextDue = async (
  from: Reader,
  { lane, names, now }: Omit<DueJobQuery, 'limit'>,
): Promise<number | null> => {
  const next = nextDue(lane, names, sql`AND j.run_at > ${now}`)
  return (await from.get(sql`SELECT ${next} AS due_at`))!.due_at as number | null
}

/** SQL that says whether any node runs a job of the lane. */
export const selectIsRunning = (lane: Lane) =>
  sql`EXISTS (SELECT 1 FROM gh_jobs WHERE state = 'running' AND lane = ${lane})`

/** Reads due jobs, the longest due first. */
export const readDueJobs = (from: Reader, query: DueJobQuery) =>
  from.all<DueJob>(sql`${selectJobs} JOIN (SELECT j.no FROM gh_jobs j
      WHERE j.state = 'waiting' AND ${isDue(query)}
      ORDER BY j.run_at, j.no LIMIT ${query.limit}) AS due ON due.no = j.no
    ORDER BY j.run_at, j.no`)

export const readJobsOf = (from: Reader, nos: readonly number[]) =>
  from.all<DueJob>(sql`${selectJobs} WHERE j.no IN (${join(nos)})`)

const claim = prepareStatement(`UPDATE gh_jobs SET state = 'running', attempt = attempt + 1,
  node = ?, heartbeat = heartbeat + 1, started_at = ?, input = ?
  WHERE no = ? AND attempt = ? AND state = 'waiting'`)

/** Returns whether this node runs the job now; false if another one does. */
export const claimJob = async (
  tx: Tx,
  { no, attempt, input }: DueJob,
  { node, now }: { node: string; now: number },
): Promise<boolean> => (await tx.run(claim([node, now, input, no, attempt - 1]))) === 1

/** The end of an attempt. */
export type JobEnd =
  | { readonly state: 'done' | 'failed'; readonly error: string | null }
  | { readonly state: 'waiting'; readonly error: string | null; readonly runAt: number }
  /** A part of its work is done: the next attempt is the first again. */
  | { readonly state: 'continued'; readonly runAt: number; readonly input: string }
  /** The node stops: the attempt does not count. */
  | { readonly state: 'interrupted' }

/** Stores the end of an attempt. Returns false if another node has taken the job over. */
export async function endAttempt(
  tx: Tx,
  job: ClaimedJob,
  end: JobEnd,
  { node, now }: { node: string; now: number },
): Promise<boolean> {
  const { no, attempt, row_key } = job
  const isMine = sql`no = ${no} AND node = ${node} AND attempt = ${attempt}
    AND state = 'running'`
  if ((await tx.run(endOf(isMine, job, end, now))) === 0) return false
  if (end.state === 'done' || end.state === 'failed') await unblockNext(tx, row_key)
  return true
}

function endOf(isMine: Statement, job: ClaimedJob, end: JobEnd, now: number) {
  if (end.state === 'interrupted') {
    return sql`UPDATE gh_jobs SET state = 'waiting', node = NULL, attempt = attempt - 1
      WHERE ${isMine}`
  }
  if (end.state === 'waiting') {
    return sql`UPDATE gh_jobs SET state = 'waiting', node = NULL, error = ${end.error},
      run_at = ${end.runAt} WHERE ${isMine}`
  }
  if (end.state === 'continued') {
    return sql`UPDATE gh_jobs SET state = 'waiting', node = NULL, error = NULL, attempt = 0,
      run_at = ${end.runAt}, input = ${end.input} WHERE ${isMine}`
  }
  const policy = policyOf(job.kind)
  const doneForMs = isCustomerRun(job) ? DONE_CUSTOMER_RUN_MS : policy.doneForMs
  const staysMs = end.state === 'done' ? doneForMs : policy.failedForMs
  if (staysMs === 0) return sql`DELETE FROM gh_jobs WHERE ${isMine}`
  return sql`UPDATE gh_jobs SET state = ${end.state}, node = NULL, schedule = NULL,
    error = ${end.error}, input = ${inputAfter(policy.isPersonal)}, ended_at = ${now},
    purge_at = ${now + staysMs}
    WHERE ${isMine}`
}

/** Increments the counters of the jobs that a node runs. */
export const beatJobs = (tx: Tx, node: string) =>
  tx.run(
    sql`UPDATE gh_jobs SET heartbeat = heartbeat + 1 WHERE state = 'running' AND node = ${node}`,
  )

interface RunningJobRow {
  readonly no: number
  readonly heartbeat: number
  readonly node: string
}

/** Reads the jobs of a lane that any node runs: at most the concurrency of each node. */
export const readRunningJobs = (from: Reader, lane: Lane) =>
  from.all<RunningJobRow>(sql`SELECT no, heartbeat, node FROM gh_jobs
    WHERE state = 'running' AND lane = ${lane}`)

/** Takes a job over from a failed node, unless the node has incremented its counter. */
export const releaseJob = (tx: Tx, { no, heartbeat }: RunningJobRow, error: string) =>
  tx.run(sql`UPDATE gh_jobs SET state = 'waiting', node = NULL, error = ${error}
    WHERE no = ${no} AND heartbeat = ${heartbeat} AND state = 'running'`)

export const findScheduledRun = (from: Reader, schedule: string) =>
  from.get<{ no: number; input: string; run_at: number }>(
    sql`SELECT no, input, run_at FROM gh_jobs WHERE schedule = ${schedule}`,
  )

/** Changes when a waiting job runs. */
export const moveJob = (tx: Tx, no: number, runAt: number) =>
  tx.run(sql`UPDATE gh_jobs SET run_at = ${runAt} WHERE no = ${no} AND state = 'waiting'`)

/** Changes the due time of a run that has had no attempt. */
export const rescheduleRun = (tx: Tx, no: number, input: string, runAt: number) =>
  tx.run(sql`UPDATE gh_jobs SET input = ${input}, run_at = ${runAt}
    WHERE no = ${no} AND state = 'waiting' AND attempt = 0`)

interface ServedTime {
  readonly scope: Scope
  /** The latest due time of a recurring job that the customer and mode has had a run for. */
  readonly due_at: number
}

/**
 * Locks the last due times that customers and modes have had their runs for, as the ends of those
 * runs do; 0 before the first one.
 */
export const lockServedTimes = (
  tx: Tx,
  { name, scopes, purgeAt }: { name: string; scopes: readonly Scope[]; purgeAt: number },
) =>
  tx.all<Row & ServedTime>(sql`INSERT INTO gh_served_times (name, scope, due_at, purge_at)
    VALUES ${join(scopes.map((scope) => sql`(${name}, ${scope}, 0, ${purgeAt})`))}
    ON CONFLICT (name, scope) DO UPDATE SET purge_at = excluded.purge_at
    RETURNING scope, due_at`)

/** Stores a due time that a customer and mode has had its run for; 0: the customer is gone. */
export const storeServedTime = (tx: Tx, name: string, { scope, due_at }: ServedTime) =>
  tx.run(sql`UPDATE gh_served_times SET due_at = ${due_at}
    WHERE name = ${name} AND scope = ${scope}`)

const replaceInput = prepareStatement('UPDATE gh_jobs SET input = ?, error = ? WHERE no = ?')

/** Replaces input and error of a job whose person is erased (§18.11). */
export const replaceJobInput = (tx: Tx, no: number, input: string, error: string | null) =>
  tx.run(replaceInput([input, error, no]))

const removal = prepareStatement('DELETE FROM gh_jobs WHERE no = ?')

/** Deletes a job whose person is erased, such as the mail to it. */
export const removeJob = (tx: Tx, no: number) => tx.run(removal([no]))

interface JobDetails {
  readonly no: number
  readonly id: string
  readonly kind: JobKind
  readonly name: string
  readonly state: string
  readonly row_key: string | null
  readonly input: string
}

export const lockJob = (tx: Tx, id: string) =>
  tx.lock<JobDetails>(
    sql`SELECT no, id, kind, name, state, row_key, input FROM gh_jobs WHERE id = ${id}`,
  )

/** Returns the JSON text of the input; that of a personal job is hidden. */
export async function findJobInput(from: Reader, id: string): Promise<string> {
  const { kind, input } = (await from.get<{ kind: JobKind; input: string }>(
    sql`SELECT kind, input FROM gh_jobs WHERE id = ${id}`,
  ))!
  return policyOf(kind).isPersonal ? '{}' : input
}

/** Makes a job due with all of its attempts; returns 0 for one whose results have expired. */
export const requeueJob = (tx: Tx, no: number, now: number) =>
  tx.run(sql`UPDATE gh_jobs SET state = 'waiting', attempt = 0, run_at = ${now}, ended_at = NULL,
    purge_at = NULL WHERE no = ${no} AND (purge_at IS NULL OR purge_at > ${now})`)

/** Ends a job that waits. */
export async function cancelJob(
  tx: Tx,
  { no, kind, row_key }: JobDetails,
  now: number,
): Promise<void> {
  await tx.run(sql`UPDATE gh_jobs SET state = 'canceled', ended_at = ${now},
    input = ${inputAfter(policyOf(kind).isPersonal)}, purge_at = ${now + policyOf(kind).failedForMs}
    WHERE no = ${no} AND state = 'waiting'`)
  await unblockNext(tx, row_key)
}

/** The input of an ended job. */
const inputAfter = (isPersonal: boolean | undefined) => (isPersonal ? raw("'{}'") : raw('input'))

/** A job fails that no node has run within this time: the service declares it no more. */
export const OVERDUE_FOR_MS = 30 * 86_400_000

interface OverdueJobs {
  readonly lane: Lane
  readonly before: number
  readonly now: number
  readonly error: string
}

/** Fails jobs that have been due since an instant, at most `PURGE_SLICE_ROWS`; returns how many. */
export async function failOverdue(
  tx: Tx,
  { lane, before, now, error }: OverdueJobs,
): Promise<number> {
  const overdue = sql`SELECT no FROM gh_jobs WHERE state = 'waiting' AND blocked = 0
    AND lane = ${lane} AND run_at <= ${before}
      AND schedule IS NULL LIMIT ${PURGE_SLICE_ROWS}`
  const failed = await tx.all<{ row_key: string | null }>(sql`UPDATE gh_jobs
    SET state = 'failed', error = ${error},
      input = ${inputAfter(isPersonalLane(lane))}, ended_at = ${now},
      purge_at = ${now + OVERDUE_FOR_MS}
    WHERE no IN (${overdue}) RETURNING row_key`)
  for (const key of new Set(failed.map(({ row_key }) => row_key))) await unblockNext(tx, key)
  return failed.length
}

const named = (names: readonly string[]) =>
  names.length === 0 ? sql`1 = 0` : sql`name IN (${join(names.map((name) => sql`${name}`))})`

/** SQL that deletes waiting runs, due since an instant, of other recurring jobs than these. */
export const overdueRuns = (
  before: number,
  recurring: readonly string[],
) => sql`DELETE FROM gh_jobs WHERE no IN
  (SELECT no FROM gh_jobs WHERE schedule IS NOT NULL AND state = 'waiting' AND run_at <= ${before}
    AND NOT (${named(recurring)}) LIMIT ${PURGE_SLICE_ROWS})`

/** Counts the jobs of a lane in a state, at most `limit`, without blocked ones. */
export async function countJobs(
  from: Reader,
  { lane, state }: { readonly lane: Lane; readonly state: 'waiting' | 'failed' },
  limit: number,
): Promise<number> {
  // Each partial index has the rows of one of the states.
  const isInState =
    state === 'failed' ? sql`ended_at IS NOT NULL` : sql`run_at >= 0 AND blocked = 0`
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM (SELECT 1 FROM gh_jobs
    WHERE lane = ${lane} AND state = ${raw(`'${state}'`)} AND ${isInState} LIMIT ${limit}) AS jobs`)
  return Number(row?.total)
}

/**
 * The jobs of all customers, as operators list them.
 *
 * @param customerOf returns SQL after JOIN: the customer `c` of a scope
 */
export const listedJobs = (customerOf: (scope: string) => string): string =>
  `(SELECT j.id, j.kind, j.name, c.id AS customer,
    CASE j.scope % 2 WHEN 1 THEN 'live' WHEN 0 THEN 'test' END AS mode, j.state, j.attempt,
    j.run_at, j.created_at, j.started_at, j.ended_at, j.error
    FROM gh_jobs j LEFT JOIN ${customerOf('j.scope')}) AS listed_jobs`
