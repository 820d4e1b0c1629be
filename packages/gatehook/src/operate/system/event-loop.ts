/**
 * Measures how busy the event loop of the main thread is, from one heartbeat to the next; and how
 * long it is blocked at once.
 */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Clock } from '../../kernel/clock.ts'
import type { HealthCheck } from './health.ts'

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

/** A loop that is blocked for longer delays all requests of the node. */
const BLOCKED_MS = 1_000
/** Blocks are sought in parts of this time: a single one may be a pause of the machine. */
const SOUGHT_MS = 60_000
const PARTS_MIN = 3

/** Returns a function that returns the longest block since its last call, in milliseconds. */
function measureBlocks(): () => number {
  const delays = monitorEventLoopDelay({ resolution: 50 })
  delays.enable()
  return () => {
    const longestMs = delays.max / 1e6
    delays.reset()
    return longestMs
  }
}

/** Warns of an event loop that is blocked again and again, which its busy share does not show. */
export function createBlockWatch(
  clock: Pick<Clock, 'elapsedMs'>,
  read: () => number = measureBlocks(),
): { readonly warning: HealthCheck } {
  let startMs = clock.elapsedMs()
  let parts: readonly { readonly endMs: number; readonly longestMs: number }[] = []
  return {
    warning() {
      const endMs = clock.elapsedMs()
      if (endMs - startMs >= PERIOD_MIN_MS) {
        startMs = endMs
        parts = [...parts, { endMs, longestMs: read() }]
      }
      parts = parts.filter((part) => endMs - part.endMs < SOUGHT_MS)
      const blocked = parts.filter(({ longestMs }) => longestMs >= BLOCKED_MS)
      if (blocked.length < PARTS_MIN) return undefined
      const longestMs = Math.max(...blocked.map((part) => part.longestMs))
      return (
        'The event loop of this node is blocked again and again, in the last minute for up to ' +
        `${(longestMs / 1000).toFixed(1)} s at once: own code computes or waits in it, or the ` +
        'machine is overloaded. All its requests wait meanwhile.'
      )
    },
  }
}
