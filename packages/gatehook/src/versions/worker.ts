/** The loop of versions: what others announced, what callers are to hear, what was counted. */
import type { Log } from '../kernel/log.ts'

/** Every node follows an announcement, and the clock, within a second (§8.5, §12.6). */
const EVERY_MS = 1000

export interface Rounds {
  /** Every second. */
  readonly often: () => Promise<unknown>
  /** Every `FLUSH_MS`. */
  readonly sometimes: () => Promise<unknown>
  readonly sometimesMs: number
}

/** Starts at once; gives what ends it, resolved once nothing runs. */
export function startRounds(log: Log, { often, sometimes, sometimesMs }: Rounds) {
  let round: Promise<void> | undefined
  let rounds = 0
  const work = async () => {
    const tried = async (what: string, run: () => Promise<unknown>) => {
      await run().catch((error: unknown) => log.warn({ err: error, what }, 'a round failed'))
    }
    await tried('announcements and notices', often)
    if (++rounds % Math.ceil(sometimesMs / EVERY_MS) === 0) await tried('version usage', sometimes)
    round = undefined
  }
  const timer = setInterval(() => {
    round ??= work()
  }, EVERY_MS)
  timer.unref()
  return async (): Promise<void> => {
    clearInterval(timer)
    await round
  }
}
