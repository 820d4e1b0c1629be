/** The runs of recurring jobs: one waits, and serves the due times since the last one. */
import type { Clock } from '../../kernel/clock.ts'
import type { Scope } from '../../kernel/principal.ts'
import type { Tx } from '../storage/database.ts'
import type { ClaimedJob, DueJob, JobHandler } from './job.ts'
import type { EnqueueJob } from './queue.ts'
import { findPassedTimes, inputOfRun, type RunInput } from './schedule.ts'
import * as store from './store.ts'

/**
 * Returns a recurring job with the due times that its attempt serves: those that have passed, also
 * during an outage, or during the earlier attempts. A repeated run that has failed before keeps its
 * own: other runs have served the later ones.
 */
export async function withPassedTimes(
  { schedule }: JobHandler,
  job: DueJob,
  now: number,
): Promise<DueJob> {
  if (!schedule || job.schedule === null) return job
  const { due_at: firstMs, missed: before, after } = JSON.parse(job.input) as RunInput
  // Customers whose runs are stored have this due time: the others get the same.
  if (after !== undefined) return job
  const { dueAt, missed } = await findPassedTimes(schedule.next, firstMs, now)
  return { ...job, input: inputOfRun(schedule.expression, dueAt, before + missed) }
}

/** Returns the run of a recurring job for a customer and mode, of which one has not ended. */
export const customerRun = (name: string, scope: Scope) =>
  ({
    kind: 'schedule',
    name,
    scope,
    schedule: `${name} ${scope}`,
    caller: { name: `every ${name}`, isPerson: false },
  }) as const

/** @param noteDue called after the commit with the due time of a run */
export function createRecurring(
  { clock, enqueue }: { readonly clock: Clock; readonly enqueue: EnqueueJob },
  noteDue: (dueAt: number) => void,
) {
  /** Enqueues the next run; it serves the due times since those of the last one. */
  const enqueueRun = async (tx: Tx, { name, schedule }: JobHandler, last?: ClaimedJob) => {
    const { expression, next } = schedule!
    const runAt = next(clock.now())
    const dueAt = last ? next((JSON.parse(last.input) as RunInput).due_at) : runAt
    if (last && last.scope !== null) {
      // The job enqueues the next run of its customers, but for a time that passed meanwhile.
      const run = customerRun(name, last.scope)
      if (dueAt < runAt) await enqueue(tx, { ...run, input: inputOfRun(expression, dueAt, 0) })
      return
    }
    const run = { kind: 'schedule', name, scope: undefined, schedule: name } as const
    await enqueue(tx, { ...run, input: inputOfRun(expression, dueAt, 0), runAt })
    tx.afterCommit(() => noteDue(runAt))
  }
  return {
    enqueue: enqueueRun,
    /** Stores the next run of a recurring job, unless one waits with the same expression. */
    async open(tx: Tx, handler: JobHandler): Promise<void> {
      const { expression, next } = handler.schedule!
      const run = await store.findScheduledRun(tx, handler.name)
      if (!run) return enqueueRun(tx, handler)
      if (JSON.parse(run.input).every === expression) return
      const dueAt = next(clock.now())
      await store.rescheduleRun(tx, run.no, inputOfRun(expression, dueAt, 0), dueAt)
    },
  }
}
