/**
 * The engine's thread, seen from the main one: started, woken, started again when it fell over,
 * drained (§2.4). On the same event loop the engine would take four fifths of the API's throughput.
 */
import { Worker } from 'node:worker_threads'
import type { Log } from '../kernel/log.ts'
import type { EngineSettings } from './engine-room.ts'
import { type Figures, NO_FIGURES } from './figures.ts'

export type ToWorker = { readonly wake: readonly number[] } | { readonly stop: number }
export type FromWorker =
  | { readonly ready: true }
  | { readonly log: string }
  | { readonly figures: Figures }

export interface EngineThread {
  wake(nos: readonly number[]): void
  figures(): Figures
  stop(limitMs: number): Promise<void>
}

const RESTART_FIRST_MS = 1_000
const RESTART_MAX_MS = 30_000

/** Resolves when the engine works; throws when it cannot be started at all. */
export async function startThread(settings: EngineSettings, log: Log): Promise<EngineThread> {
  let figures = NO_FIGURES
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let pauseMs = RESTART_FIRST_MS
  let stopping = false

  const open = () =>
    new Promise<void>((resolve, reject) => {
      // Published as .js, run from the source as .ts.
      const file = import.meta.url.replace(/thread(\.\w+)$/, 'engine-worker$1')
      const made = new Worker(new URL(file), { workerData: { settings, level: log.level } })
      worker = made
      made.on('message', (message: FromWorker) => {
        if ('log' in message) return relay(log, message.log)
        if ('figures' in message) figures = message.figures
        else resolve()
      })
      made.on('error', (error) => {
        log.error({ err: error }, 'the delivery engine fell over')
        reject(error)
      })
      made.on('exit', () => {
        if (worker === made) worker = undefined
        reject(new Error('the delivery engine ended before it worked'))
        if (!stopping) again()
      })
    })
  const again = () => {
    timer = setTimeout(() => {
      open().then(
        () => {
          pauseMs = RESTART_FIRST_MS
          log.info('the delivery engine works again')
        },
        () => undefined, // logged where it happened; the thread's end starts the next one
      )
    }, pauseMs)
    pauseMs = Math.min(pauseMs * 2, RESTART_MAX_MS)
  }

  await open().catch((error) => {
    stopping = true
    clearTimeout(timer)
    throw error
  })
  return {
    wake: (nos) => worker?.postMessage({ wake: nos } satisfies ToWorker),
    figures: () => figures,
    async stop(limitMs) {
      stopping = true
      clearTimeout(timer)
      const ending = worker
      if (!ending) return
      const ended = new Promise<void>((resolve) => void ending.once('exit', () => resolve()))
      ending.postMessage({ stop: limitMs } satisfies ToWorker)
      await ended
    },
  }
}

/** A line of the thread's log, said by this one's. */
function relay(log: Log, line: string): void {
  const { level, time, msg, ...rest } = JSON.parse(line)
  const say = log[level as 'info']
  if (typeof say === 'function') say.call(log, rest, msg)
}
