/**
 * Long reads on SQLite: threads with a connection each, started when a list needs one and ended
 * when idle. The thread that serves requests waits for none of them.
 */
import { Worker } from 'node:worker_threads'
import { createTurns, type TurnKey } from '../kernel/turns.ts'
import type { Reader, Row, Statement, Value } from './database.ts'
import { translate } from './sqlite-errors.ts'
import type { WalkCommand, WalkResult } from './sqlite-walk-worker.ts'
import { checkValues, type Guard, Span, unavailable } from './transaction.ts'

/** Walks that run at once; each customer has one of them at most. */
const THREADS_MAX = 2
/** A thread holds some 20 MB, which are returned. */
const IDLE_MS = 60_000
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 }

interface WalkThread {
  send(command: WalkCommand): Promise<unknown>
  /** Whether it still runs. */
  alive(): boolean
  /** Ends it after `IDLE_MS` unless it is used before. */
  rest(onEnd: () => void): void
  use(): void
  end(): Promise<unknown>
}

function startThread(file: string): WalkThread {
  // Published as .js, run from the source as .ts.
  const script = import.meta.url.replace(/sqlite-walks(\.\w+)$/, 'sqlite-walk-worker$1')
  const worker = new Worker(new URL(script), { workerData: { file }, resourceLimits: LIMITS })
  let job: PromiseWithResolvers<unknown> | undefined
  let idle: NodeJS.Timeout | undefined
  let alive = true
  worker.on('message', (result: WalkResult) => {
    if ('value' in result) return job!.resolve(result.value)
    const { message, errcode } = result.error
    const error = errcode === undefined ? new Error(message) : { message, errcode }
    job!.reject(translate(Object.assign(new Error(message), error), () => []))
  })
  const fall = (error: unknown) => {
    alive = false
    job?.reject(unavailable(error))
  }
  worker.on('error', fall)
  worker.on('exit', () => fall(new Error('a thread for long reads ended')))
  return {
    send(command) {
      job = Promise.withResolvers()
      worker.postMessage(command)
      return job.promise
    },
    alive: () => alive,
    rest(onEnd) {
      worker.unref() // an idle thread does not keep the process running
      idle = setTimeout(() => {
        onEnd() // before its end, which comes some turns later
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

function readerOf(thread: WalkThread, span: Span): Reader {
  const read = async (rows: 'objects' | 'arrays', { sql, values }: Statement) => {
    span.use()
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

export interface SqliteWalks {
  take<T>(customer: TurnKey, read: (reader: Reader) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** `file`: the absolute path of the database. */
export function createWalks(file: string, guard: Guard): SqliteWalks {
  const turns = createTurns(THREADS_MAX)
  const free = new Set<WalkThread>()
  const running = new Set<Promise<unknown>>()
  const walk = async <T>(read: (reader: Reader) => Promise<T>): Promise<T> => {
    const [thread = startThread(file)] = free
    free.delete(thread)
    thread.use()
    const span = new Span()
    try {
      await thread.send({ exec: 'BEGIN' })
      return await guard.run(span, () => read(readerOf(thread, span)))
    } finally {
      span.open = false
      await thread.send({ exec: 'COMMIT' }).catch(() => thread.end())
      if (thread.alive()) {
        free.add(thread)
        thread.rest(() => free.delete(thread))
      }
    }
  }
  return {
    take(customer, read) {
      const taken = turns(customer, () => walk(read))
      running.add(taken)
      const ended = () => running.delete(taken)
      taken.then(ended, ended)
      return taken
    },
    async close() {
      await Promise.allSettled(running)
      await Promise.all([...free].map((thread) => thread.end()))
      free.clear()
    },
  }
}
