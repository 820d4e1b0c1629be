/**
 * Long reads on SQLite: threads with one connection each, which start on demand and end when idle.
 * The thread that serves requests never waits for them.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createGroupTurns } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { Reader, Row, Statement, Value } from './database.ts'
import type { Checkpoints } from './sqlite-checkpoints.ts'
import { translateSqliteError } from './sqlite-errors.ts'
import type { LongReadCommand, LongReadResult } from './sqlite-long-read-worker.ts'
import {
  checkValues,
  storageUnavailable,
  Transaction,
  type TransactionGuard,
} from './transaction.ts'

/** Long reads that run at once; each customer has at most one, of any of its groups of callers. */
const THREADS_MAX = 2
/** An idle thread occupies about 20 MB, so it ends after this time. */
const IDLE_MS = 60_000
/** How long reads pause at most for the log, and how often they look at it. */
const PAUSE_MAX_MS = 1_000
const LOOK_MS = 20
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

interface LongReadThread {
  send(command: LongReadCommand): Promise<unknown>
  isAlive(): boolean
  /** Ends the thread after `IDLE_MS` unless `use` is called before. */
  scheduleEnd(onEnd: () => void): void
  use(): void
  end(): Promise<unknown>
}

function startThread(file: string): LongReadThread {
  // The package ships .js; the source runs as .ts.
  const script = import.meta.url.replace(/sqlite-long-reads(\.\w+)$/, 'sqlite-long-read-worker$1')
  const worker = new Worker(new URL(script), { workerData: { file }, resourceLimits: LIMITS })
  let job: PromiseWithResolvers<unknown> | undefined
  let idle: NodeJS.Timeout | undefined
  let isAlive = true
  worker.on('message', (result: LongReadResult) => {
    if ('value' in result) return job!.resolve(result.value)
    const { message, errcode } = result.error
    const error = errcode === undefined ? new Error(message) : { message, errcode }
    job!.reject(translateSqliteError(Object.assign(new Error(message), error), () => []))
  })
  const fail = (error: unknown) => {
    isAlive = false
    job?.reject(storageUnavailable(error))
  }
  worker.on('error', fail)
  worker.on('exit', () => fail(new Error('a thread for long reads ended')))
  return {
    send(command) {
      job = Promise.withResolvers()
      worker.postMessage(command)
      return job.promise
    },
    isAlive: () => isAlive,
    scheduleEnd(onEnd) {
      worker.unref() // lets the process exit
      idle = setTimeout(() => {
        onEnd() // at once: the thread ends asynchronously
        void worker.terminate()
      }, IDLE_MS).unref()
    },
    use() {
      worker.ref()
      clearTimeout(idle)
    },
    end() {
      clearTimeout(idle)
      return worker.terminate()
    },
  }
}

function createReader(thread: LongReadThread, transaction: Transaction): Reader {
  const read = async (rows: 'objects' | 'arrays', { sql, values }: Statement) => {
    transaction.requireUsable()
    checkValues(values)
    return thread.send({ rows, statement: { sql, text: '', values: [...values] } })
  }
  return {
    all: async <R extends Row>(statement: Statement) => (await read('objects', statement)) as R[],
    get: async <R extends Row>(statement: Statement) =>
      ((await read('objects', statement)) as R[])[0],
    arrays: async (statement) => (await read('arrays', statement)) as Value[][],
  }
}

interface LongReadDeps {
  readonly guard: TransactionGuard
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Pick<Checkpoints, 'isHeld' | 'notePause'>
}

export interface SqliteLongReads {
  take<T>(group: TurnKey, read: (reader: Reader) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/**
 * The pauses of long reads. SQLite's log begins again only while no read uses it, so reads that
 * follow one another would let it grow until the disk is full.
 */
function createPauses(log: Pick<Checkpoints, 'isHeld' | 'notePause'>) {
  /** The ends of the reads that have begun. */
  const begun = new Set<Promise<void>>()
  let pause: Promise<void> | undefined
  const rest = async () => {
    await Promise.all(begun)
    for (let ms = 0; ms < PAUSE_MAX_MS && log.isHeld(); ms += LOOK_MS) await delay(LOOK_MS)
    log.notePause()
    pause = undefined
  }
  return {
    /** Waits while the log is held. Returns the function that notes the end of the read. */
    async begin(): Promise<() => void> {
      while (log.isHeld()) {
        pause ??= rest()
        await pause
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      begun.add(promise)
      return () => {
        begun.delete(promise)
        resolve()
      }
    },
  }
}

/** Creates the long reads of a database. `file`: its absolute path. */
export function createLongReads(
  file: string,
  { guard, clock, log }: LongReadDeps,
): SqliteLongReads {
  const takeTurn = createGroupTurns(THREADS_MAX, { clock })
  const pauses = createPauses(log)
  const free = new Set<LongReadThread>()
  const running = new Set<Promise<unknown>>()
  const longRead = async <T>(read: (reader: Reader) => Promise<T>): Promise<T> => {
    const [thread = startThread(file)] = free
    free.delete(thread)
    thread.use()
    const transaction = new Transaction()
    try {
      await thread.send({ exec: 'BEGIN' })
      return await guard.run(transaction, () => read(createReader(thread, transaction)))
    } finally {
      transaction.isOpen = false
      await thread.send({ exec: 'COMMIT' }).catch(() => thread.end())
      if (thread.isAlive()) {
        free.add(thread)
        thread.scheduleEnd(() => free.delete(thread))
      }
    }
  }
  const readBetweenPauses = async <T>(read: (reader: Reader) => Promise<T>): Promise<T> => {
    const end = await pauses.begin()
    return longRead(read).finally(end)
  }
  return {
    take(group, read) {
      const result = takeTurn(group, () => readBetweenPauses(read))
      running.add(result)
      const onEnd = () => running.delete(result)
      result.then(onEnd, onEnd)
      return result
    },
    async close() {
      await Promise.allSettled(running)
      await Promise.all([...free].map((thread) => thread.end()))
      free.clear()
    },
  }
}
