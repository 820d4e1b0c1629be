/** Measures how busy the event loop of the main thread is, from one heartbeat to the next. */
import { performance } from 'node:perf_hooks'
import type { Clock } from '../../kernel/clock.ts'

export interface LoopUse {
  /** The part of the time in which the event loop was busy: 0 to 1. */
  readonly busy: number
  /** The processor time of all threads in that time: 1 is one core. */
  readonly cpu: number
  readonly periodMs: number
}

/** Since the start of the process, in milliseconds. */
interface LoopReading {
  readonly activeMs: number
  readonly cpuMs: number
}

/** A shorter period says little. */
const PERIOD_MIN_MS = 5_000

const readLoop = (): LoopReading => {
  const { user, system } = process.cpuUsage()
  const { active } = performance.eventLoopUtilization()
  return { activeMs: active, cpuMs: (user + system) / 1_000 }
}

/**
 * Returns a function that ends a period, and returns the use of the last one; undefined before the
 * first has ended.
 */
export function createLoopMeter(
  clock: Pick<Clock, 'elapsedMs'>,
  read: () => LoopReading = readLoop,
): () => LoopUse | undefined {
  const readNow = () => ({ ...read(), atMs: clock.elapsedMs() })
  let start = readNow()
  let last: LoopUse | undefined
  return () => {
    const end = readNow()
    const periodMs = end.atMs - start.atMs
    if (periodMs < PERIOD_MIN_MS) return last
    const partOf = (ms: number) => Math.round((ms / periodMs) * 100) / 100
    last = {
      busy: partOf(end.activeMs - start.activeMs),
      cpu: partOf(end.cpuMs - start.cpuMs),
      periodMs: Math.round(periodMs),
    }
    start = end
    return last
  }
}
