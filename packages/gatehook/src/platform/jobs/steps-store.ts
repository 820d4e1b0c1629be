/** SQL of the steps of jobs. */
import type { Database, Reader, Row, Tx } from '../storage/database.ts'
import { PURGE_SLICE_ROWS, purgeInSlices } from '../storage/purge.ts'
import { sql } from '../storage/sql.ts'
import type { JobAttempt } from './job.ts'

/** The row of the attempt that holds the steps of a job. */
export const ATTEMPT_ROW = '.attempt'
export const RESPONSE_ROW = '.response'

export interface StepRow extends Row {
  readonly name: string
  readonly is_stored: number
  readonly begun_at: number
}

interface NewStep {
  readonly job: string
  readonly name: string
  readonly scope: number | null
  readonly result: Uint8Array | null
  readonly now: number
}

/** SQL of the person whose request caused a job. */
const subjectOf = (job: string) => sql`(SELECT subject FROM gh_jobs WHERE id = ${job})`

/**
 * Makes an attempt the holder of the steps of its job, and returns them. Waits for a transaction of
 * the former holder that is about to commit, whose step they then contain. Returns undefined if
 * another node runs the job.
 */
export async function holdSteps(
  tx: Tx,
  { id, node, attempt, scope }: JobAttempt,
  holder: string,
  now: number,
): Promise<StepRow[] | undefined> {
  const isMine = sql`id = ${id} AND node = ${node} AND attempt = ${attempt} AND state = 'running'`
  if (!(await tx.lock(sql`SELECT no FROM gh_jobs WHERE ${isMine}`))) return undefined
  await tx.run(sql`INSERT INTO gh_steps (job, name, scope, subject, holder, begun_at)
    VALUES (${id}, ${ATTEMPT_ROW}, ${scope}, ${subjectOf(id)}, ${holder}, ${now})
    ON CONFLICT (job, name) DO UPDATE SET holder = excluded.holder`)
  return tx.all<StepRow>(sql`SELECT name, begun_at,
      CASE WHEN result IS NULL THEN 0 ELSE 1 END AS is_stored
    FROM gh_steps WHERE job = ${id}`)
}

/** Returns whether an attempt holds the steps; no other one begins until the transaction ends. */
export const isHeldBy = async (tx: Tx, job: string, holder: string): Promise<boolean> =>
  (await tx.lock(sql`SELECT begun_at FROM gh_steps
    WHERE job = ${job} AND name = ${ATTEMPT_ROW} AND holder = ${holder}`)) !== undefined

/** Stores the result of a step, or that it has begun. */
export const storeStep = (tx: Tx, { job, name, scope, result, now }: NewStep) =>
  tx.run(sql`INSERT INTO gh_steps (job, name, scope, subject, result, begun_at)
    VALUES (${job}, ${name}, ${scope}, ${subjectOf(job)}, ${result}, ${now})
    ON CONFLICT (job, name) DO UPDATE SET result = excluded.result`)

export const findResult = async (
  from: Reader,
  job: string,
  name: string,
): Promise<Uint8Array | undefined> =>
  (
    await from.get<{ result: Uint8Array | null }>(
      sql`SELECT result FROM gh_steps WHERE job = ${job} AND name = ${name}`,
    )
  )?.result ?? undefined

/** Returns whether a step of a job has begun before an instant, and its result is unknown. */
export const hasUnknownStep = async (from: Reader, job: string, before: number): Promise<boolean> =>
  (await from.get(sql`SELECT 1 AS found FROM gh_steps WHERE job = ${job}
    AND name <> ${ATTEMPT_ROW} AND result IS NULL AND begun_at <= ${before} LIMIT 1`)) !== undefined

/** Returns whether a step of a job has begun. */
export const hasStep = async (from: Reader, job: string): Promise<boolean> =>
  (await from.get(sql`SELECT 1 AS found FROM gh_steps
    WHERE job = ${job} AND name <> ${ATTEMPT_ROW} LIMIT 1`)) !== undefined

/** Has steps whose outcome is unknown run again. */
export const forgetUnknownSteps = (tx: Tx, job: string) =>
  tx.run(sql`DELETE FROM gh_steps WHERE job = ${job} AND name <> ${ATTEMPT_ROW} AND result IS NULL`)

/** Returns whether the steps of a job can still continue. */
export const isUnfinished = async (from: Reader, job: string): Promise<boolean> =>
  (await from.get(sql`SELECT 1 AS found FROM gh_jobs WHERE id = ${job} AND ended_at IS NULL`)) !==
  undefined

/** Loses a result that no secret decrypts, or of an erased person: its step does not run again. */
export const deleteLostResult = (tx: Tx, job: string, name: string) =>
  tx.run(sql`UPDATE gh_steps SET result = NULL, begun_at = 0 WHERE job = ${job} AND name = ${name}`)

export const deleteStepsOf = (tx: Tx, job: string) =>
  tx.run(sql`DELETE FROM gh_steps WHERE job = ${job}`)

/** Deletes the steps of jobs whose rows have expired, or are overdue runs, before the rows. */
export async function purgeSteps(
  db: Database,
  { now, overdueBefore }: { readonly now: number; readonly overdueBefore: number },
): Promise<number> {
  const expired = sql`j.purge_at <= ${now}`
  const overdue = sql`j.schedule IS NOT NULL AND j.state = 'waiting'
    AND j.run_at <= ${overdueBefore}`
  let purgedCount = 0
  for (const condition of [expired, overdue]) {
    const rows = sql`SELECT s.job, s.name FROM gh_jobs j JOIN gh_steps s ON s.job = j.id
      WHERE ${condition} LIMIT ${PURGE_SLICE_ROWS}`
    purgedCount += await purgeInSlices(db, sql`DELETE FROM gh_steps WHERE (job, name) IN (${rows})`)
  }
  return purgedCount
}
