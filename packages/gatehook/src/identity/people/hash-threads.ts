/**
 * Threads that hash passwords (`hash-worker.ts`), at a lower priority than libuv's threads, which
 * write commits to the disk. A thread is started when one is needed, and ends after 5 min without
 * work. `password.ts` bounds how many work at once.
 */
import type { Argon2Parameters } from 'node:crypto'
import { Worker } from 'node:worker_threads'

/** The parameters of argon2, as they are sent to the thread. */
export type Derivation = Argon2Parameters & { readonly message: string }

export type Derive = (derivation: Derivation) => Promise<Buffer>

/** An idle thread holds about 35 MB; starting one takes as long as two hashes. */
const IDLE_MS = 5 * 60_000
/** The heap of a thread; the memory of argon2 is outside of it. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 }

interface HashThread {
  readonly worker: Worker
  /** The hash in progress. */
  job?: PromiseWithResolvers<Buffer> | undefined
  idle?: NodeJS.Timeout
}

/** Creates the function that hashes on an idle thread, or on a new one. */
export function createHashThreads(): Derive {
  const idleThreads = new Set<HashThread>()

  const release = (thread: HashThread) => {
    thread.worker.unref() // an idle thread must not keep the process alive
    thread.idle = setTimeout(() => {
      idleThreads.delete(thread) // before it exits, which takes some event loop turns
      void thread.worker.terminate()
    }, IDLE_MS).unref()
    idleThreads.add(thread)
  }
  const startThread = (): HashThread => {
    // Published as .js, run from the source as .ts.
    const file = import.meta.url.replace(/hash-threads(\.\w+)$/, 'hash-worker$1')
    const worker = new Worker(new URL(file), { resourceLimits: LIMITS })
    const thread: HashThread = { worker }
    worker.on('message', (hash: Uint8Array) => {
      const { job } = thread
      release(thread)
      job!.resolve(Buffer.from(hash))
    })
    worker.on('error', (error) => thread.job?.reject(error))
    worker.on('exit', () => {
      idleThreads.delete(thread)
      thread.job?.reject(new Error('a thread that hashes passwords ended'))
    })
    return thread
  }

  return (derivation) => {
    const [thread = startThread()] = idleThreads
    idleThreads.delete(thread)
    clearTimeout(thread.idle)
    thread.job = Promise.withResolvers<Buffer>()
    thread.worker.ref()
    // A small buffer is a view of a large pool, which a message would copy as a whole.
    const nonce = new Uint8Array(derivation.nonce as Uint8Array)
    thread.worker.postMessage({ ...derivation, nonce })
    return thread.job.promise
  }
}
