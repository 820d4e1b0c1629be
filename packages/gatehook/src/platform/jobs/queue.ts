/** Enqueues jobs in the transaction of the change that causes them. */
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createIdSequence } from '../../kernel/id.ts'
import type { Random } from '../../kernel/random.ts'
import type { Tx } from '../storage/database.ts'
import {
  INPUT_MAX_BYTES,
  type JobCaller,
  type JobKind,
  type Lane,
  type NewJob,
  policyOf,
} from './job.ts'
import { insertJob, lockLastOf } from './store.ts'

/**
 * Stores a job, which runs if and only if the transaction commits. Returns its id. Throws
 * `payload_too_large` for an input beyond 64 KiB.
 */
export type EnqueueJob = (tx: Tx, job: NewJob) => Promise<string>

const CALLER = Symbol('caller')

interface CallerTx extends Tx {
  [CALLER]?: JobCaller
}

/** Sets the caller of the jobs that a transaction enqueues. */
export function setJobCaller(tx: Tx, caller: JobCaller): void {
  const own: CallerTx = tx
  own[CALLER] = caller
}

interface QueueDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
  /** Wakes the runner of the lane of this node. */
  readonly wake: (lane: Lane) => void
}

export function createEnqueue({ clock, random, wake }: QueueDeps): EnqueueJob {
  const nextId = createIdSequence('job_', random)
  return async (tx, job) => {
    if (Buffer.byteLength(job.input) > INPUT_MAX_BYTES) {
      throw new Failure('payload_too_large', 'The input of a job would exceed 64 KiB.')
    }
    const now = clock.now()
    const before = job.rowKey === undefined ? undefined : await lockLastOf(tx, job.rowKey)
    const { isSameWork = (input) => input === job.input } = job
    const isTwin = before?.state === 'waiting' && isSameWork(before.input)
    if (job.isMerged && isTwin) return before.id
    const id = nextId(now)
    const times = { runAt: job.runAt ?? now, createdAt: now }
    const caller = job.caller ?? (tx as CallerTx)[CALLER]
    await insertJob(tx, { ...job, ...times, id, caller, isBlocked: before !== undefined })
    tx.afterCommit(() => wake(policyOf(job.kind).lane))
    return id
  }
}

/** Enqueues the jobs of the installation with these names, unless they wait. */
export async function enqueueNamed(
  tx: Tx,
  enqueue: EnqueueJob,
  kind: JobKind,
  names: Iterable<string>,
): Promise<void> {
  // In one order, so that nodes do not wait for each other.
  for (const name of [...new Set(names)].toSorted()) {
    const job = { kind, name, scope: undefined, input: '{}', rowKey: `${kind} ${name}` }
    await enqueue(tx, { ...job, isMerged: true })
  }
}

/** The queue of the components of one node: a new job wakes the runner of its lane. */
export interface JobQueue {
  readonly enqueue: EnqueueJob
  /** Has the runner of a lane read the due jobs; without one, other nodes are notified. */
  readonly wake: (lane: Lane) => void
  /** Names the runner of a lane; undefined: this node runs none now. */
  follow(lane: Lane, wake: (() => void) | undefined): void
  /** Has every runner of this node read the due jobs. */
  wakeAll(): void
}

export function createJobQueue({
  clock,
  random,
  notify,
}: Omit<QueueDeps, 'wake'> & { readonly notify: () => void }): JobQueue {
  const runners = new Map<Lane, () => void>()
  const wake = (lane: Lane) => (runners.get(lane) ?? notify)()
  return {
    enqueue: createEnqueue({ clock, random, wake }),
    wake,
    follow: (lane, run) => void (run ? runners.set(lane, run) : runners.delete(lane)),
    wakeAll() {
      for (const run of runners.values()) run()
    },
  }
}
