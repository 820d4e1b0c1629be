/**
 * Runs the chores of the modules, which purge expired rows, once a minute: those of all nodes on
 * the node that has the lease, and those of each node everywhere. A chore that finds nothing skips
 * rounds: 1, then 3, then 7.
 */
import type { Clock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import { type ChoreLease, RENEW_MS } from './chore-lease.ts'
import type { JobLog } from './job-log.ts'

const CHORE_INTERVAL_MS = 60_000
/** After a jump of the test clock, expired rows are purged within a second (§12.6). */
const CHECK_INTERVAL_MS = 250
/** The next round of any node begins at least this long after the last one. */
const ROUND_MS = 55_000
/** Rounds that a chore skips at most, so that an idle node runs few statements. */
const SKIPPED_ROUNDS_MAX = 7
/** After a jump of the test clock rows may have expired, so that no chore skips the round. */
const JUMP_MS = 1_000

/** Chores by name. Each returns the number of purged rows. */
export type Chores = Readonly<Record<string, () => Promise<number>>>

export interface JanitorOptions {
  readonly log: Log
  readonly chores: Chores
  /** Names of chores that every node runs. */
  readonly nodeChores?: readonly string[]
  readonly lease: ChoreLease
  readonly clock: Clock
  /** Receives each run of a chore. */
  readonly jobs: JobLog
  /** Whether a chore may run now. Default: always. */
  readonly mayRun?: (chore: string) => boolean
}

/**
 * Starts the janitor. A failed chore is retried in the next round. Returns a function that stops
 * the janitor.
 */
export function startJanitor(options: JanitorOptions): () => Promise<void> {
  const { log, chores, nodeChores = [], lease, clock, jobs, mayRun = () => true } = options
  let last = { now: clock.now(), elapsedMs: clock.elapsedMs() }
  const isDue = () =>
    clock.now() - last.now >= CHORE_INTERVAL_MS ||
    clock.elapsedMs() - last.elapsedMs >= CHORE_INTERVAL_MS
  /** Chores that found nothing: the rounds that they skip after a run, and still have to skip. */
  const resting = new Map<string, { readonly rounds: number; left: number }>()
  const selectDue = (names: readonly string[]) =>
    names.filter(mayRun).filter((name) => {
      const rest = resting.get(name)
      return !rest || rest.left-- <= 0
    })
  const noteEnd = (chore: string, rows: number | undefined) => {
    const rounds = Math.min(2 * (resting.get(chore)?.rounds ?? 0) + 1, SKIPPED_ROUNDS_MAX)
    if (rows === 0) resting.set(chore, { rounds, left: rounds })
    else resting.delete(chore)
  }
  const runChores = async (names: readonly string[]) => {
    for (const chore of names) {
      const startedMs = clock.elapsedMs()
      const rows = await chores[chore]!().catch((error: unknown) => {
        log.warn({ err: error, chore }, 'a chore failed')
        return undefined
      })
      const tookMs = Math.round(clock.elapsedMs() - startedMs)
      noteEnd(chore, rows)
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
      const current = { now: clock.now(), elapsedMs: clock.elapsedMs() }
      const jumpMs = current.now - last.now - (current.elapsedMs - last.elapsedMs)
      if (Math.abs(jumpMs) >= JUMP_MS) resting.clear()
      last = current
      await runChores(selectDue(names.filter((name) => nodeChores.includes(name))))
      const due = selectDue(commonChores)
      if (due.length > 0) await runWithLease(lease, log, clock, () => runChores(due))
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
