/** Work that no request waits for. */
import type { Log } from './log.ts'

interface BackgroundTasks {
  /** Adds work; `failure` is the log message if it rejects. */
  add(work: Promise<unknown>, failure: string): void
  /** Resolves when all work has ended: call it before the database is closed. */
  idle(): Promise<void>
}

export function createBackgroundTasks(log: Log): BackgroundTasks {
  const pending = new Set<Promise<unknown>>()
  return {
    add(work, failure) {
      const task = work
        .catch((error: unknown) => log.warn({ err: error }, failure))
        .finally(() => pending.delete(task))
      pending.add(task)
    },
    async idle() {
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}
