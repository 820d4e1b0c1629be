/**
 * Threads of our own that hash passwords (`hash-worker.ts`), not libuv's: those have the priority
 * of the thread that serves requests, and bring its commits to the disk. Started when needed, ended
 * when nobody signs in for a while. How many work at once is said in `password.ts`.
 */
import type { Argon2Parameters } from 'node:crypto'
import { Worker } from 'node:worker_threads'

/** What argon2 is asked for, as it travels to the thread. */
export type Derivation = Argon2Parameters & { readonly message: string }

export type Derive = (asked: Derivation) => Promise<Buffer>

/** A thread holds some 35 MB, which are given back; to start one takes two hashes’ time. */
const IDLE_MS = 5 * 60_000
/** Its heap holds a message at a time; what argon2 itself takes is not in it. */
const LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 }

interface Thread {
  readonly worker: Worker
  /** Who waits for it. */
  job?: PromiseWithResolvers<Buffer> | undefined
  idle?: NodeJS.Timeout
}

/** Gives what derives; a thread is started where none is free. */
export function hashThreads(): Derive {
  const free = new Set<Thread>()

  const rest = (thread: Thread) => {
    thread.worker.unref() // one that waits for work keeps no program from its end
    thread.idle = setTimeout(() => {
      free.delete(thread) // before its end, which comes some turns later
      void thread.worker.terminate()
    }, IDLE_MS).unref()
    free.add(thread)
  }
  const started = (): Thread => {
    // Published as .js, run from the source as .ts.
    const file = import.meta.url.replace(/hash-threads(\.\w+)$/, 'hash-worker$1')
    const worker = new Worker(new URL(file), { resourceLimits: LIMITS })
    const thread: Thread = { worker }
    worker.on('message', (hash: Uint8Array) => {
      const { job } = thread
      rest(thread)
      job!.resolve(Buffer.from(hash))
    })
    worker.on('error', (error) => thread.job?.reject(error))
    worker.on('exit', () => {
      free.delete(thread)
      thread.job?.reject(new Error('a thread that hashes passwords ended'))
    })
    return thread
  }

  return (asked) => {
    const [thread = started()] = free
    free.delete(thread)
    clearTimeout(thread.idle)
    thread.job = Promise.withResolvers<Buffer>()
    thread.worker.ref()
    // Small buffers are parts of one large one, all of which would travel.
    thread.worker.postMessage({ ...asked, nonce: new Uint8Array(asked.nonce as Uint8Array) })
    return thread.job.promise
  }
}
