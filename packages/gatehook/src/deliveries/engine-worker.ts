/** The engine on its thread: messages in, messages out (`thread.ts` is the other end). */

import { parentPort, workerData } from 'node:worker_threads'
import { startInterval } from '../kernel/interval.ts'
import { createLog } from '../kernel/log.ts'
import { type EngineSettings, openEngineRoom } from './engine-room.ts'
import { NO_FIGURES } from './figures.ts'
import type { FromWorker, ToWorker } from './thread.ts'

const FIGURES_MS = 1_000

const port = parentPort!
const say = (message: FromWorker) => port.postMessage(message)
const { settings, level } = workerData as { settings: EngineSettings; level: string }
// Two threads that write to one pipe would write into each other's lines.
const log = createLog({ level, destination: { write: (line) => say({ log: line }) } })
const room = await openEngineRoom(settings, log)

let told = JSON.stringify(NO_FIGURES)
const reportFigures = () => {
  const figures = room.figures()
  const text = JSON.stringify(figures)
  if (text !== told) say({ figures })
  told = text
}
const stopFigures = startInterval({
  intervalMs: FIGURES_MS,
  run: reportFigures,
  log,
  failure: 'the figures of the engine could not be reported',
})

port.on('message', async (message: ToWorker) => {
  if ('wake' in message) return room.wake(message.wake)
  await stopFigures()
  await room.stop(message.stop)
  say({ figures: room.figures() })
  port.close()
})
say({ ready: true })
