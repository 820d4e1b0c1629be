/**
 * The changes that run or wait in this process. Several of one customer to one path change one row
 * after the other: each waits for those before it.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Call } from '../http/call.ts'

interface PendingChange extends Pick<Call, 'method' | 'path' | 'route'> {
  readonly customer: string
  readonly beganMs: number
}

/** A path with several changes of one customer. */
interface CrowdedPath extends Omit<PendingChange, 'beganMs'> {
  readonly count: number
}

/** Fewer changes of one path, or such that wait for less, are ordinary. */
const CROWD_MIN = 5
const WAIT_MS = 1_000
/** Paths that are listed, those with the most changes. */
const PATHS_MAX = 3

export interface PendingChanges {
  /** Runs the change of a request. */
  run<T>(call: Call, change: () => Promise<T>): Promise<T>
  listCrowded(): readonly CrowdedPath[]
}

export function createPendingChanges({ elapsedMs }: Pick<Clock, 'elapsedMs'>): PendingChanges {
  const all = new Set<PendingChange>()
  return {
    async run({ method, path, route, principal }, change) {
      const customer = principal?.customer ?? ''
      const own = { method, path, route, customer, beganMs: elapsedMs() }
      all.add(own)
      try {
        return await change()
      } finally {
        all.delete(own)
      }
    },
    listCrowded() {
      const untilMs = elapsedMs() - WAIT_MS
      const paths = Map.groupBy(
        all,
        ({ customer, method, path }) => `${customer} ${method} ${path}`,
      )
      return [...paths.values()]
        .filter(
          (same) => same.length >= CROWD_MIN && same.some(({ beganMs }) => beganMs <= untilMs),
        )
        .map((same) => {
          const { beganMs: _, ...first } = same[0]!
          return { ...first, count: same.length }
        })
        .filter(({ path, route }) => path !== route)
        .sort((a, b) => b.count - a.count)
        .slice(0, PATHS_MAX)
    },
  }
}
