/**
 * Wakes who waits for events of this node as soon as one is committed. Other nodes' events are
 * found by looking now and then: a bell that does not ring loses nothing.
 */
import type { Sink } from './store.ts'

export interface Bell {
  /** A sink of the recorder: rings once the event's transaction is durable. */
  readonly sink: Sink
  /** Resolves at the next ring, after `ms` real milliseconds, or when `signal` aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export function createBell(): Bell {
  const waiting = new Set<() => void>()
  const ring = () => {
    for (const wake of [...waiting]) wake()
  }
  return {
    async sink(tx) {
      tx.afterCommit(ring)
    },
    wait: (ms, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve()
        const wake = () => {
          clearTimeout(timer)
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        const timer = setTimeout(wake, ms)
        timer.unref()
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      }),
  }
}
