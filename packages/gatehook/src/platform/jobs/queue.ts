/** Enqueues jobs in the transaction of the change that causes them. */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createIdSequence } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import { INPUT_MAX_BYTES, type NewJob } from './job.ts'
import { insertJob } from './store.ts'

/**
 * Stores a job, which runs if and only if the transaction commits. Returns its id. Throws
 * `payload_too_large` for an input beyond 64 KiB.
 */
export type EnqueueJob = (tx: Tx, job: NewJob) => Promise<string>

interface QueueDeps {
  readonly clock: Clock
  readonly random: Random
  /** Wakes the runner of this node. */
  readonly wake: () => void
}

export function createEnqueue({ clock, random, wake }: QueueDeps): EnqueueJob {
  const nextId = createIdSequence('job_', random)
  return async (tx, job) => {
    if (Buffer.byteLength(job.input) > INPUT_MAX_BYTES) {
      throw new Failure('payload_too_large', 'The input of a job would exceed 64 KiB.')
    }
    const now = clock.now()
    const id = nextId(now)
    await insertJob(tx, { ...job, id, runAt: job.runAt ?? now, createdAt: now })
    tx.afterCommit(wake)
    return id
  }
}
