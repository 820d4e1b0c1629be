/** The loop that throws away what has expired; what that is, the rooms say. */
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'

const EVERY_MS = 60_000
/** A test clock jumps, and what is over by then is gone within a second (§12.6). */
const LOOK_MS = 250

/** Chores by name, each giving how much it removed. */
export type Chores = Readonly<Record<string, () => Promise<number>>>

/** Gives what stops it, resolved once nothing runs. A chore that fails is tried again later. */
export function startJanitor(log: Log, chores: Chores, clock: Clock): () => Promise<void> {
  let last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
  const isTime = () =>
    clock.now() - last.now >= EVERY_MS || clock.elapsedMs() - last.elapsedMs >= EVERY_MS
  return startInterval({
    intervalMs: LOOK_MS,
    log,
    failure: 'the janitor failed',
    async run() {
      if (!isTime()) return
      last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
      for (const [chore, run] of Object.entries(chores)) {
        await run().catch((error: unknown) => log.warn({ err: error, chore }, 'a chore failed'))
      }
    },
  })
}
