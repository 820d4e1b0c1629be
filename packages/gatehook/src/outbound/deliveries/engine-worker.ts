/** The entry point of the engine's thread; `deliveries.ts` is the other end of its messages. */
import { parentPort, workerData } from 'node:worker_threads'
import { Failure } from '../../kernel/failure.ts'
import { startInterval } from '../../kernel/interval.ts'
import { createLog } from '../../kernel/log.ts'
import { StorageError, StorageWaitError } from '../../platform/storage/database.ts'
import type { EngineWorkerData, FromWorker, ToWorker, UnopenedDatabase } from './deliveries.ts'
import { openEngineHost } from './host.ts'
import { NO_FIGURES } from './metrics.ts'
import { JOBS_DUE, STATE_CHANGED } from './wake-up.ts'

const FIGURES_MS = 1_000

const port = parentPort!
const post = (message: FromWorker) => port.postMessage(message)
const { settings, level, underway } = workerData as EngineWorkerData
// The main thread writes the log: two threads on one pipe would interleave their lines.
const log = createLog({ level, destination: { write: (line) => post({ log: line }) } })
/** Returns an error as the main thread can report it; undefined for a bug. */
function unopenedBy(error: unknown): UnopenedDatabase | undefined {
  if (error instanceof StorageError) {
    return { sentence: error.message, isTemporary: error instanceof StorageWaitError }
  }
  if (!(error instanceof Failure) || error.code !== 'storage_unavailable') return undefined
  return { sentence: error.message, isTemporary: true }
}

const host = await openEngineHost(settings, {
  log,
  receivers: {
    [JOBS_DUE]: () => post({ jobsDue: true }),
    [STATE_CHANGED]: () => post({ stateChanged: true }),
  },
  onTakenOver: () => post({ takenOver: true }),
}).catch((error: unknown) => {
  const unopened = unopenedBy(error)
  if (!unopened) throw error
  post({ unopened })
  // Connections that opened before the failure would keep the thread alive.
  process.exit()
})

const postAttempts = () => {
  const attempts = host.takeAttempts()
  if (attempts) post({ attempts })
}
let postedFigures = JSON.stringify(NO_FIGURES)
const stopFigures = startInterval({
  intervalMs: FIGURES_MS,
  run() {
    const figures = host.figures()
    const text = JSON.stringify(figures)
    if (text !== postedFigures) post({ figures })
    postedFigures = text
    postAttempts()
  },
  log,
  failure: 'the figures of the engine could not be reported',
})

port.on('message', async (message: ToWorker) => {
  if ('wake' in message) {
    Atomics.sub(underway, 0, message.wake.committed?.length ?? 0)
    return host.wake(message.wake)
  }
  if ('syncSecrets' in message) return host.syncSecrets()
  await stopFigures()
  await host.stop(message.stop)
  post({ figures: host.figures() })
  postAttempts()
  port.close()
})
post({ ready: true })
