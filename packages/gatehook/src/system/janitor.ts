/** The loop that throws away what has expired; what that is, the rooms say. */
import type { Log } from '../kernel/log.ts'

const EVERY_MS = 60_000

/** Chores by name, each giving how much it removed. */
export type Chores = Readonly<Record<string, () => Promise<number>>>

/** Gives what stops it, resolved once nothing runs. A chore that fails is tried again later. */
export function startJanitor(log: Log, chores: Chores): () => Promise<void> {
  let round: Promise<void> | undefined
  const work = async () => {
    for (const [chore, run] of Object.entries(chores)) {
      await run().catch((error: unknown) => log.warn({ err: error, chore }, 'a chore failed'))
    }
    round = undefined
  }
  const timer = setInterval(() => {
    round ??= work()
  }, EVERY_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await round
  }
}
