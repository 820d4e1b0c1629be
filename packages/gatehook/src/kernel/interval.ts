/** Periodic work: one run at a time, and a stop that waits for the current run. */
import type { Log } from './log.ts'

interface Interval {
  readonly intervalMs: number
  readonly run: () => unknown
  readonly log: Log
  /** The log message for a run that fails; the next run takes place as usual. */
  readonly failure: string
}

/**
 * Starts periodic work; the first run is after one interval. While a run is in progress, intervals
 * pass without a run. The timer does not keep the process alive.
 *
 * @returns Stops the work; resolves when the current run has ended.
 * @example
 * const stop = startInterval({ intervalMs: 1000, run: poll, log, failure: 'polling failed' })
 * await stop()
 */
export function startInterval({ intervalMs, run, log, failure }: Interval): () => Promise<void> {
  let current: Promise<void> | undefined
  const runOnce = async () => {
    try {
      await run()
    } catch (error) {
      log.warn({ err: error }, failure)
    }
  }
  const timer = setInterval(() => {
    current ??= runOnce().finally(() => {
      current = undefined
    })
  }, intervalMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await current
  }
}
