/** The loop that lets this node's clock follow the database (§12.6: within a second). */
import type { Log } from '../kernel/log.ts'
import type { ClockKeeper } from './clock.ts'

const EVERY_MS = 500

/** Starts at once; gives what stops it. A failed look leaves the clock as it was. */
export function followClock(keeper: Pick<ClockKeeper, 'follow'>, log: Log): () => void {
  let looking = false
  const look = async () => {
    if (looking) return
    looking = true
    await keeper
      .follow()
      .catch((error: unknown) => log.warn({ err: error }, 'the test clock could not be read'))
    looking = false
  }
  const timer = setInterval(look, EVERY_MS)
  timer.unref()
  return () => clearInterval(timer)
}
