/** The runs of recurring jobs: one waits, and serves the due times since the last one. */
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Reader, Tx } from '../storage/database.ts'
import type { RunningAttempt } from './attempt.ts'
import type { DueJob, JobHandler } from './job.ts'
import type { EnqueueJob } from './queue.ts'
import { findPassedTimes, inputOfRun, type NextDueTime, type RunInput } from './schedule.ts'
import { hasStep } from './steps-store.ts'
import * as store from './store.ts'

interface RecurringDeps {
  readonly clock: Clock
  readonly enqueue: EnqueueJob
}

/**
 * Returns a recurring job with the due times that its attempt serves: those that have passed, also
 * during an outage. An attempt after one that may have run code keeps its own, to which the stored
 * results of its steps belong; the next run serves the later ones.
 */
export async function withPassedTimes(
  db: Reader,
  { schedule }: JobHandler,
  job: DueJob,
  now: number,
): Promise<DueJob> {
  if (!schedule || job.schedule === null || job.attempt > 1) return job
  const { due_at: fromMs, missed: before, first_at, after } = JSON.parse(job.input) as RunInput
  // Customers whose runs are stored have this due time: the others get the same.
  if (after !== undefined || (await hasStep(db, job.id))) return job
  const { dueAt, missed } = await findPassedTimes(schedule.next, fromMs, now)
  return { ...job, input: inputOfRun(schedule.expression, dueAt, before + missed, first_at) }
}

/** Returns the run of a recurring job for a customer and mode, of which one has not ended. */
const customerRun = (name: string, scope: Scope) =>
  ({
    kind: 'schedule',
    name,
    scope,
    schedule: `${name} ${scope}`,
    caller: { name: `every ${name}`, isPerson: false },
  }) as const

/**
 * Returns the function that enqueues the runs of customers and modes for the due times of a run: of
 * those that no run has served, and whose last run has ended. It locks their served times first, so
 * that it sees the runs that end at the same time.
 */
export function createEnqueueCustomerRuns(
  { clock, enqueue }: RecurringDeps,
  name: string,
  next: NextDueTime,
) {
  return async (tx: Tx, scopes: readonly Scope[], run: RunInput): Promise<void> => {
    if (scopes.length === 0) return
    const purgeAt = clock.now() + store.OVERDUE_FOR_MS
    const served = await store.lockServedTimes(tx, { name, scopes, purgeAt })
    const all = inputOfRun(run.every, run.due_at, run.missed)
    for (const { scope, due_at: servedAt } of served) {
      if (servedAt >= run.due_at) continue
      const dueAt = Math.min(next(servedAt), run.due_at)
      const input = dueAt > run.first_at ? inputOfRun(run.every, dueAt) : all
      await enqueue(tx, { ...customerRun(name, scope), input })
    }
  }
}

/** @param noteDue called after the commit with the due time of a run */
export function createRecurring(
  { clock, enqueue }: RecurringDeps,
  noteDue: (dueAt: number) => void,
) {
  /** Enqueues the run of a job that serves the due times from `dueAt`. */
  const enqueueRun = async (
    tx: Tx,
    { name, schedule }: JobHandler,
    dueAt: number,
    runAt = dueAt,
  ): Promise<void> => {
    const input = inputOfRun(schedule!.expression, dueAt)
    await enqueue(tx, { kind: 'schedule', name, scope: undefined, schedule: name, input, runAt })
    tx.afterCommit(() => noteDue(runAt))
  }
  /** Enqueues the run after one that has ended. */
  const enqueueNext = async (
    tx: Tx,
    { job, handler }: Pick<RunningAttempt, 'job' | 'handler'>,
    isFailed: boolean,
  ): Promise<void> => {
    const { expression, next } = handler.schedule!
    const { due_at: lastMs } = JSON.parse(job.input) as RunInput
    const dueAt = next(lastMs)
    if (job.scope !== null) {
      // The job enqueues the run of a time that has not passed.
      if (dueAt > clock.now()) return
      const input = inputOfRun(expression, dueAt)
      await enqueue(tx, { ...customerRun(handler.name, job.scope), input })
    } else if (isFailed && handler.spread) {
      // Some customers have no run of the last due time.
      await enqueueRun(tx, handler, lastMs, next(clock.now()))
    } else {
      await enqueueRun(tx, handler, dueAt)
    }
  }
  /** Stores which due time a run has served. Returns false for a customer that is gone. */
  const serve = async (tx: Tx, { name, scope, input }: DueJob): Promise<boolean> => {
    if (scope === null) return true
    const { due_at } = JSON.parse(input) as RunInput
    return (await store.storeServedTime(tx, name, { scope, due_at })) === 1
  }
  return {
    /** Stores the end of an attempt, and enqueues the next run after a recurring job's. */
    async endAttempt(
      tx: Tx,
      { job, handler }: Pick<RunningAttempt, 'job' | 'handler'>,
      end: store.JobEnd,
      hold: { readonly node: string; readonly now: number },
    ): Promise<boolean> {
      const isOver = job.schedule !== null && (end.state === 'done' || end.state === 'failed')
      // Before the row of the job: the code that enqueues runs locks them in this order.
      const isServed = isOver && (await serve(tx, job))
      const isMine = await store.endAttempt(tx, job, end, hold)
      if (isMine && isServed) await enqueueNext(tx, { job, handler }, end.state === 'failed')
      return isMine
    },
    /** Stores the next run of a recurring job, unless one waits with the same expression. */
    async open(tx: Tx, handler: JobHandler): Promise<void> {
      const { expression, next } = handler.schedule!
      const run = await store.findScheduledRun(tx, handler.name)
      if (!run) return enqueueRun(tx, handler, next(clock.now()))
      const { every, after } = JSON.parse(run.input) as RunInput
      // Some customers have no run yet of the due time of a half-done job.
      if (every === expression || after !== undefined) return
      const dueAt = next(clock.now())
      await store.rescheduleRun(tx, run.no, inputOfRun(expression, dueAt), dueAt)
    },
  }
}
