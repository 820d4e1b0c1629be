/** Runs the chores of the modules, which purge expired rows, once a minute. */
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import type { JobLog } from './job-log.ts'

const CHORE_INTERVAL_MS = 60_000
/** After a jump of the test clock, expired rows are purged within a second (§12.6). */
const CHECK_INTERVAL_MS = 250

/** Chores by name. Each returns the number of purged rows. */
export type Chores = Readonly<Record<string, () => Promise<number>>>

export interface JanitorOptions {
  readonly log: Log
  readonly chores: Chores
  readonly clock: Clock
  /** Receives each run of a chore. */
  readonly jobs: JobLog
}

/**
 * Starts the janitor. A failed chore is retried after a minute. Returns a function that stops it.
 */
export function startJanitor({ log, chores, clock, jobs }: JanitorOptions): () => Promise<void> {
  let last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
  const isDue = () =>
    clock.now() - last.now >= CHORE_INTERVAL_MS ||
    clock.elapsedMs() - last.elapsedMs >= CHORE_INTERVAL_MS
  return startInterval({
    intervalMs: CHECK_INTERVAL_MS,
    log,
    failure: 'the janitor failed',
    async run() {
      if (!isDue()) return
      last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
      for (const [chore, run] of Object.entries(chores)) {
        const startedMs = clock.elapsedMs()
        const rows = await run().catch((error: unknown) => {
          log.warn({ err: error, chore }, 'a chore failed')
          return undefined
        })
        const tookMs = Math.round(clock.elapsedMs() - startedMs)
        jobs.add(chore, { lastAt: clock.now(), tookMs, ok: rows !== undefined, rows })
      }
    },
  })
}
