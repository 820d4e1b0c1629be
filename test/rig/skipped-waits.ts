/** Skips pauses that only let other requests end, of which a test has none. */
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

const { setTimeout: wait } = timers
/** How many tests skip a pause of this length, in milliseconds. */
const users = new Map<number, number>()

function waitOrSkip(...args: Parameters<typeof wait>) {
  return wait(users.has(args[0] ?? 0) ? 0 : args[0], args[1], args[2])
}

/** Skips pauses of exactly this length until the returned function is called. */
export function skipWaits(ms: number): () => void {
  users.set(ms, (users.get(ms) ?? 0) + 1)
  timers.setTimeout = waitOrSkip as typeof wait
  syncBuiltinESMExports()
  return () => {
    const left = users.get(ms)! - 1
    if (left > 0) users.set(ms, left)
    else users.delete(ms)
    if (users.size > 0) return
    timers.setTimeout = wait
    syncBuiltinESMExports()
  }
}
