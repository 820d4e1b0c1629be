/** Runs due jobs once, for programs without background work, for example tests. */
import { setTimeout as delay } from 'node:timers/promises'
import { type AttemptCount, HEARTBEAT_MS, type JobFigures, type JobRunner } from './runner.ts'

/** A failed pass waits this long for the jobs that run. */
const DRAIN_LIMIT_MS = 9_000

/**
 * Runs jobs until none is due, also those that jobs enqueue, and waits for their ends. Returns the
 * attempts. A failed job that is retried later is not due.
 *
 * @param createRunner creates a runner that calls `nudge` after the end of an attempt
 */
export async function runDueJobs(
  createRunner: (nudge: () => void) => JobRunner,
): Promise<JobFigures['attempts']> {
  let reportEnd = () => {}
  const runner = createRunner(() => reportEnd())
  try {
    while (runner.isDue() || runner.figures().running > 0) {
      const { promise: end, resolve } = Promise.withResolvers<void>()
      reportEnd = resolve
      if (runner.isDue()) await runner.pass()
      if (!runner.isDue() && runner.figures().running > 0) await waitForEnd(end)
    }
  } finally {
    await runner.drain(DRAIN_LIMIT_MS)
  }
  return runner.figures().attempts
}

/**
 * Runs lanes until none has a due job: jobs of one enqueue those of others. Returns the attempts of
 * all passes.
 *
 * @param lanes each runs its due jobs, and returns their attempts
 */
export async function runDueLanes(
  lanes: readonly (() => Promise<JobFigures['attempts']>)[],
): Promise<JobFigures['attempts']> {
  const total = new Map<string, AttemptCount>()
  let hasRun = true
  while (hasRun) {
    hasRun = false
    for (const runLane of lanes) {
      for (const attempts of await runLane()) {
        hasRun = true
        const key = `${attempts.kind} ${attempts.outcome} ${attempts.job}`
        const existing = total.get(key)
        if (existing) existing.count += attempts.count
        else total.set(key, { ...attempts })
      }
    }
  }
  return [...total.values()]
}

/** Waits for the end of an attempt, but not beyond the next heartbeat. */
async function waitForEnd(end: Promise<void>): Promise<void> {
  const timer = new AbortController()
  const heartbeat = delay(HEARTBEAT_MS, undefined, { signal: timer.signal }).catch(() => {})
  await Promise.race([end, heartbeat])
  timer.abort()
}
