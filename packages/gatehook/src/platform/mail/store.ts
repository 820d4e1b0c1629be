/** SQL of the mail that waits, and of the mail that failed. Mail that was sent has no row. */
import type { Reader, Row, Tx } from '../storage/database.ts'
import { prepareStatement, sql } from '../storage/sql.ts'

export interface MailRow extends Row {
  readonly id: string
  readonly kind: string
  /** JSON, without secrets: tokens are generated when the mail is sent. */
  readonly payload: string
  readonly attempts: number
}

const insert = prepareStatement(
  `INSERT INTO gh_mail (id, kind, payload, state, attempts, due_at, created_at)
   VALUES (?, ?, ?, 'waiting', 0, ?, ?)`,
)

export const insertMail = (
  tx: Tx,
  { id, kind, payload }: Pick<MailRow, 'id' | 'kind' | 'payload'>,
  nowMs: number,
) => tx.run(insert([id, kind, payload, nowMs, nowMs]))

const due = prepareStatement(
  `SELECT id, kind, payload, attempts FROM gh_mail
   WHERE state = 'waiting' AND due_at <= ? ORDER BY due_at, id LIMIT ?`,
)

/** Returns mail that is due, the oldest first. */
export const listDueMail = (from: Reader, nowMs: number, limit: number) =>
  from.all<MailRow>(due([nowMs, limit]))

/** SQL of the instant at which the next mail is due; null without mail. */
export const selectNextDue = sql`(SELECT MIN(due_at) FROM gh_mail WHERE state = 'waiting')`

/**
 * Takes a mail until `untilMs`: of several nodes one gets 1. A node that fails meanwhile leaves the
 * mail due again.
 */
export const leaseMail = (tx: Tx, { id, attempts }: MailRow, untilMs: number) =>
  tx.run(sql`UPDATE gh_mail SET attempts = ${attempts + 1}, due_at = ${untilMs}
    WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`)

/** Deletes a mail that was sent, or that has nothing to say. */
export const deleteMail = (tx: Tx, id: string) => tx.run(sql`DELETE FROM gh_mail WHERE id = ${id}`)

/** Schedules the next attempt; 0 if another node has the mail. */
export const postponeMail = (tx: Tx, { id, attempts }: MailRow, dueMs: number, error: string) =>
  tx.run(sql`UPDATE gh_mail SET due_at = ${dueMs}, error = ${error}
    WHERE id = ${id} AND attempts = ${attempts} AND state = 'waiting'`)

/** Marks a mail as failed; it is purged at `purgeMs`. Its payload is removed. */
export const failMail = (tx: Tx, { id, attempts }: MailRow, purgeMs: number, error: string) =>
  tx.run(sql`UPDATE gh_mail SET state = 'failed', payload = '{}', due_at = ${purgeMs},
    error = ${error} WHERE id = ${id} AND attempts = ${attempts}`)

const MAX_PURGED = 1000

export const purgeFailedMail = (tx: Tx, nowMs: number) =>
  tx.run(sql`DELETE FROM gh_mail WHERE id IN (SELECT id FROM gh_mail
    WHERE state = 'failed' AND due_at <= ${nowMs} ORDER BY due_at LIMIT ${MAX_PURGED})`)

/** Counts the mail in a state, at most `limit`. */
export async function countMail(
  from: Reader,
  state: 'waiting' | 'failed',
  limit: number,
): Promise<number> {
  const row = await from.get(sql`SELECT COUNT(*) AS total FROM
    (SELECT 1 FROM gh_mail WHERE state = ${state} LIMIT ${limit}) AS mail`)
  return Number(row?.total)
}

/** Returns the error of the mail that failed last. */
export async function findLastMailError(from: Reader): Promise<string | undefined> {
  const row = await from.get<{ error: string | null }>(sql`SELECT error FROM gh_mail
    WHERE state = 'failed' ORDER BY due_at DESC LIMIT 1`)
  return row?.error ?? undefined
}
