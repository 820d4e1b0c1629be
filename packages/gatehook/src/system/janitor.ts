/**
 * Runs the chores of the modules, which purge expired rows, once a minute: those of all nodes on
 * the node that has the lease, and those of each node everywhere.
 */
import type { Clock } from '../kernel/clock.ts'
import { startInterval } from '../kernel/interval.ts'
import type { Log } from '../kernel/log.ts'
import { type ChoreLease, RENEW_MS } from './chore-lease.ts'
import type { JobLog } from './job-log.ts'

const CHORE_INTERVAL_MS = 60_000
/** After a jump of the test clock, expired rows are purged within a second (§12.6). */
const CHECK_INTERVAL_MS = 250
/** The next round of any node begins at least this long after the last one. */
const ROUND_MS = 55_000

/** Chores by name. Each returns the number of purged rows. */
export type Chores = Readonly<Record<string, () => Promise<number>>>

export interface JanitorOptions {
  readonly log: Log
  readonly chores: Chores
  /** Names of chores that every node runs. */
  readonly nodeChores?: readonly string[]
  /** Undefined: this node is the only one. */
  readonly lease?: ChoreLease | undefined
  readonly clock: Clock
  /** Receives each run of a chore. */
  readonly jobs: JobLog
}

/**
 * Starts the janitor. A failed chore is retried after a minute. Returns a function that stops it.
 */
export function startJanitor(options: JanitorOptions): () => Promise<void> {
  const { log, chores, nodeChores = [], lease, clock, jobs } = options
  let last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
  const isDue = () =>
    clock.now() - last.now >= CHORE_INTERVAL_MS ||
    clock.elapsedMs() - last.elapsedMs >= CHORE_INTERVAL_MS
  const runChores = async (names: readonly string[]) => {
    for (const chore of names) {
      const startedMs = clock.elapsedMs()
      const rows = await chores[chore]!().catch((error: unknown) => {
        log.warn({ err: error, chore }, 'a chore failed')
        return undefined
      })
      const tookMs = Math.round(clock.elapsedMs() - startedMs)
      jobs.add(chore, { lastAt: clock.now(), tookMs, ok: rows !== undefined, rows })
    }
  }
  const names = Object.keys(chores)
  const commonChores = names.filter((name) => !nodeChores.includes(name))
  return startInterval({
    intervalMs: CHECK_INTERVAL_MS,
    log,
    failure: 'the janitor failed',
    async run() {
      if (!isDue()) return
      last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
      await runChores(names.filter((name) => nodeChores.includes(name)))
      if (!lease) return runChores(commonChores)
      await runWithLease(lease, log, clock, () => runChores(commonChores))
    },
  })
}

/** Runs the chores unless another node does; renews the lease meanwhile. */
async function runWithLease(
  lease: ChoreLease,
  log: Log,
  clock: Clock,
  body: () => Promise<void>,
): Promise<void> {
  const startedAt = clock.now()
  if (!(await lease.claim())) return
  const failure = 'the lease of the janitor was not renewed'
  const stopRenewing = startInterval({ intervalMs: RENEW_MS, log, run: lease.claim, failure })
  try {
    await body()
  } finally {
    await stopRenewing()
    await lease.release(startedAt + ROUND_MS)
  }
}
