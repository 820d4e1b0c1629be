/**
 * Syncs the log after a write is acknowledged instead of before, for writes that a client does not
 * depend on and that are repeated when missing. A commit survives a crash of the process; a crash
 * of the machine can lose the most recent commits.
 */
import { setTimeout as pause } from 'node:timers/promises'

export interface DelayedSync {
  /** Schedules a sync of the commits so far. Throws when an earlier sync has failed. */
  schedule(): Promise<void>
  /** Resolves when all commits are on disk, or a sync has failed. */
  finish(): Promise<void>
}

export function createDelayedSync(sync: () => Promise<void>, afterMs: number): DelayedSync {
  let isDue = false
  let running: Promise<void> | undefined
  let failure: { readonly error: unknown } | undefined
  const run = async () => {
    while (isDue) {
      await pause(afterMs)
      isDue = false // the next sync covers commits during this one
      await sync()
    }
    running = undefined
  }
  return {
    async schedule() {
      if (failure) throw failure.error
      isDue = true
      running ??= run().catch((error: unknown) => {
        failure = { error }
      })
    },
    async finish() {
      await running
    },
  }
}
