/** Detects failed nodes by their heartbeat counters, so that no two clocks are compared. */
import type { Clock } from './clock.ts'

/**
 * Returns a function that receives all heartbeat counters and returns the keys of those that have
 * not changed for `failedAfterMs`, by the monotonic time of this node.
 */
export function createFailureDetector<K>(clock: Clock, failedAfterMs: number) {
  let counters = new Map<K, { readonly heartbeat: number; readonly sinceMs: number }>()
  return (heartbeats: readonly (readonly [key: K, heartbeat: number])[]): K[] => {
    const nowMs = clock.elapsedMs()
    counters = new Map(
      heartbeats.map(([key, heartbeat]) => {
        const before = counters.get(key)
        return [key, before?.heartbeat === heartbeat ? before : { heartbeat, sinceMs: nowMs }]
      }),
    )
    return [...counters]
      .filter(([, { sinceMs }]) => nowMs - sinceMs >= failedAfterMs)
      .map(([key]) => key)
  }
}
