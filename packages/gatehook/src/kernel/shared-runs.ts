/** Runs some work once for all who request it meanwhile, with a rest in between. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from './clock.ts'

interface RunRest {
  readonly clock: Pick<Clock, 'elapsedMs'>
  /** A run is followed by a rest of this many times its duration. Default: by none. */
  readonly times?: number
  readonly maxMs?: number
  readonly wait?: (ms: number) => Promise<unknown>
  /** Whether a call during a run gets its result. Default: that of the next one. */
  readonly joins?: boolean
}

/**
 * Returns a function with the result of a run that begins after the call, or, with `joins`, before
 * it. Calls that wait for one run share it, so that any number of them cost a part of the time.
 */
export function shareRuns<T>(
  run: () => Promise<T>,
  { clock, times = 0, maxMs = 0, wait = delay, joins = false }: RunRest,
): () => Promise<T> {
  let dueMs = Number.NEGATIVE_INFINITY
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<T> | undefined
  let current: Promise<T> | undefined
  const runNext = async (): Promise<T> => {
    await running.catch(() => undefined)
    const restMs = dueMs - clock.elapsedMs()
    if (restMs > 0) await wait(restMs)
    current = next
    running = next!
    next = undefined
    const beginMs = clock.elapsedMs()
    try {
      return await run()
    } finally {
      current = undefined
      const endMs = clock.elapsedMs()
      dueMs = endMs + Math.min(maxMs, times * (endMs - beginMs))
    }
  }
  return () => {
    if (joins && current) return current
    next ??= runNext()
    return next
  }
}
