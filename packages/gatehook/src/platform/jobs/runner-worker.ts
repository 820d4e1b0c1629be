/** Repeats the passes of a runner: at once after `nudge`, else by a timer while it has work. */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { JobRunner } from './runner.ts'

/** In memory: after a jump of the test clock, due jobs start within this time (§12.6). */
const CHECK_INTERVAL_MS = 250
/** The pause after a failure of the database. */
const FAILURE_PAUSE_MS = 1_000

export interface JobLoop {
  /** Runs a pass if the runner has work. */
  nudge(): void
  /** Resolves when the current pass has ended. */
  stop(): Promise<void>
}

export function startJobLoop(
  runner: Pick<JobRunner, 'isDue' | 'pass'>,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): JobLoop {
  let current: Promise<void> | undefined
  let isStopped = false
  let pausedUntilMs = Number.NEGATIVE_INFINITY
  const runPasses = async () => {
    try {
      while (!isStopped && runner.isDue()) await runner.pass()
    } catch (error) {
      pausedUntilMs = clock.elapsedMs() + FAILURE_PAUSE_MS
      log.warn({ err: error }, 'jobs could not be read or stored')
    }
  }
  const nudge = () => {
    if (isStopped || clock.elapsedMs() < pausedUntilMs) return
    current ??= runPasses().finally(() => {
      current = undefined
    })
  }
  const timer = setInterval(nudge, CHECK_INTERVAL_MS)
  timer.unref()
  return {
    nudge,
    async stop() {
      isStopped = true
      clearInterval(timer)
      await current
    },
  }
}
