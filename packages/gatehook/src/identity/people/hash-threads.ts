/**
 * Threads that hash passwords (`hash-worker.ts`), at a lower priority than libuv's threads, which
 * write commits to the disk. A thread is started when one is needed, and ends after 5 min without
 * work. `password.ts` bounds how many work at once. A hash that other programs hold up moves to a
 * thread with the normal priority (`hash-pace.ts`): no process may raise that of a thread.
 */
import type { Argon2Parameters } from 'node:crypto'
import { Worker } from 'node:worker_threads'
import { threadFailureOf } from '../../kernel/thread-failure.ts'
import { HASH_PATIENCE_MS, type HashPace, type HashTimes, hashPace } from './hash-pace.ts'

/** The parameters of argon2, as they are sent to the thread. */
export type Derivation = Argon2Parameters & { readonly message: string }

export type Derive = (derivation: Derivation) => Promise<Buffer>

/** The message of a thread. */
export interface HashResult extends HashTimes {
  readonly hash: Uint8Array
}

export interface HashThreadData {
  readonly isLow: boolean
}

/** An idle thread holds about 35 MB; starting one takes as long as two hashes. */
const IDLE_MS = 5 * 60_000
/** The heap of a thread; the memory of argon2 is outside of it. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 }

interface HashJob extends Pick<PromiseWithResolvers<Buffer>, 'resolve' | 'reject'> {
  readonly derivation: Derivation
  readonly measurement: ReturnType<HashPace['begin']>
}

interface HashThread extends HashThreadData {
  readonly worker: Worker
  /** The hash in progress. */
  job?: HashJob | undefined
  idle?: NodeJS.Timeout
  patience?: NodeJS.Timeout
}

/** Creates the function that hashes on an idle thread, or on a new one. */
export function createHashThreads(pace: HashPace = hashPace): Derive {
  const idleThreads = new Set<HashThread>()

  const end = (thread: HashThread) => {
    idleThreads.delete(thread) // before it exits, which takes some event loop turns
    clearTimeout(thread.idle)
    thread.worker.unref()
    void thread.worker.terminate()
  }
  const release = (thread: HashThread) => {
    thread.worker.unref() // an idle thread must not keep the process alive
    thread.idle = setTimeout(() => end(thread), IDLE_MS).unref()
    idleThreads.add(thread)
  }
  const takeJob = (thread: HashThread): HashJob | undefined => {
    const { job } = thread
    thread.job = undefined
    clearTimeout(thread.patience)
    return job
  }
  const startThread = (): HashThread => {
    // Published as .js, run from the source as .ts.
    const file = import.meta.url.replace(/hash-threads(\.\w+)$/, 'hash-worker$1')
    const workerData: HashThreadData = { isLow: !pace.isStarved() }
    const worker = new Worker(new URL(file), { workerData, resourceLimits: LIMITS })
    const thread: HashThread = { ...workerData, worker }
    worker.on('message', ({ hash, ...times }: HashResult) => {
      const job = takeJob(thread)
      if (!job) return // it has moved to another thread
      job.measurement.end(times)
      release(thread)
      job.resolve(Buffer.from(hash))
    })
    worker.on('error', (error) => takeJob(thread)?.reject(threadFailureOf(error)))
    worker.on('exit', () => {
      idleThreads.delete(thread)
      takeJob(thread)?.reject(new Error('a thread that hashes passwords ended'))
    })
    return thread
  }
  /** Returns an idle thread with the priority that hashes have now, or a new one. */
  const findThread = (): HashThread => {
    const isLow = !pace.isStarved()
    for (const thread of idleThreads) {
      if (thread.isLow === isLow) return thread
      end(thread)
    }
    return startThread()
  }
  const run = (job: HashJob) => {
    let thread: HashThread
    try {
      thread = findThread()
    } catch (error) {
      return job.reject(threadFailureOf(error))
    }
    idleThreads.delete(thread)
    clearTimeout(thread.idle)
    thread.job = job
    if (thread.isLow) thread.patience = setTimeout(() => moveJob(thread), HASH_PATIENCE_MS)
    thread.worker.ref()
    thread.worker.postMessage(job.derivation)
  }
  const moveJob = (thread: HashThread) => {
    if (!thread.job?.measurement.isStarving()) return
    const job = takeJob(thread)!
    end(thread)
    run(job)
  }

  return (derivation) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    // A small buffer is a view of a large pool, which a message would copy as a whole.
    const nonce = new Uint8Array(derivation.nonce as Uint8Array)
    const measurement = pace.begin()
    run({ derivation: { ...derivation, nonce }, measurement, resolve, reject })
    return promise
  }
}
