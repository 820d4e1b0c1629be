/** How much of its heap the main thread has in use. Beyond the limit, Node ends the process. */
import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../../kernel/clock.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck } from './health.ts'

interface HeapSize {
  readonly usedBytes: number
  readonly limitBytes: number
}

/** Samples among which the smallest counts: garbage is no use, and few of them contain none. */
const SAMPLES = 3
const SAMPLE_MS = 5_000
/** The share of the limit from which Node mostly collects garbage. */
const SHARE_MAX = 0.85

export interface Heap {
  /** Returns the part of the limit that has been in use throughout the last samples. */
  share(): number
  readonly warning: HealthCheck
  readonly metric: Metric
}

const readHeap = (): HeapSize => {
  const { used_heap_size, heap_size_limit } = getHeapStatistics()
  return { usedBytes: used_heap_size, limitBytes: heap_size_limit }
}

export function createHeap({ elapsedMs }: Pick<Clock, 'elapsedMs'>, read = readHeap): Heap {
  const samples: number[] = []
  let sampledMs = Number.NEGATIVE_INFINITY
  const share = () => {
    const { usedBytes, limitBytes } = read()
    if (elapsedMs() - sampledMs >= SAMPLE_MS) {
      sampledMs = elapsedMs()
      samples.push(usedBytes)
      if (samples.length > SAMPLES) samples.shift()
    }
    return samples.length < SAMPLES ? 0 : Math.min(...samples) / limitBytes
  }
  return {
    share,
    warning() {
      const part = share()
      if (part < SHARE_MAX) return undefined
      const limitMib = Math.round(read().limitBytes / 2 ** 20)
      return (
        `This process has ${percentOf(part)} of its heap of ${limitMib} MiB in use, and ends ` +
        'beyond: own code keeps objects, or its work needs more. Raise it: ' +
        'NODE_OPTIONS=--max-old-space-size=MIB. A restart helps for a time.'
      )
    },
    metric: {
      name: 'nodejs_heap_size_limit_bytes',
      help: 'Heap of the main thread beyond which Node ends the process.',
      type: 'gauge',
      read: () => [{ value: read().limitBytes }],
    },
  }
}

/** An end of a process without notice. */
export interface SuddenEnd {
  /** Epoch milliseconds of its last sign of life. */
  readonly at: number
  /** The part of the heap that its last report had in use. */
  readonly heap: number
}

/** One end can be that of its machine. */
const ENDS_MIN = 2

/** Returns a sentence about processes of this node that ended without notice within an hour. */
export function describeEnds(ends: readonly SuddenEnd[]): string | undefined {
  const last = ends.at(-1)
  if (!last || (ends.length < ENDS_MIN && last.heap < SHARE_MAX)) return undefined
  const times = ends.length === 1 ? 'once' : `${ends.length} times`
  const heap =
    last.heap >= SHARE_MAX
      ? `, the last time with ${percentOf(last.heap)} of its heap in use: raise ` +
        'NODE_OPTIONS=--max-old-space-size=MIB, or find what own code keeps'
      : ': it was killed or crashed; the log of its supervisor has the error or signal'
  return `This node ended ${times} without notice within an hour${heap}.`
}

const percentOf = (share: number): string => `${Math.floor(share * 100)} %`
