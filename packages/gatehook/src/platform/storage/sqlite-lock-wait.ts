/**
 * Waits for the lock of a SQLite file, and names the process that holds it: SQLite says no more
 * than that the database is locked.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { describeFileLock, type FileLock, findFileLockHolder } from './file-lock-holder.ts'
import { retryWhileBusy } from './sqlite-connection.ts'

/** A lock is ordinary for this time; then the node looks for its holder as often. */
const LOOK_MS = 1_000
/** Writes that have waited are listed for this time: between two of them, none waits. */
const LISTED_MS = 10_000

export interface SqliteLockWait {
  /** Runs a command as soon as the lock is free; throws `storage_unavailable` after 5 s. */
  retry(command: () => void): Promise<void>
  /** Returns the lock for which writes wait, or did in the last seconds. */
  current(): FileLock | undefined
}

interface LockWaitOptions {
  /** The absolute path of the database. */
  readonly file: string
  readonly clock: Clock
  readonly log: Log
  /** Returns the number of writes that wait. */
  readonly count: () => number
}

export function createSqliteLockWait({ file, clock, log, count }: LockWaitOptions): SqliteLockWait {
  let last: (FileLock & { readonly metMs: number }) | undefined
  const current = () => (last && clock.elapsedMs() - last.metMs < LISTED_MS ? last : undefined)
  const look = (waitedMs: number) => {
    const former = current()
    const holder = findFileLockHolder(file)
    // A transaction of own code: its own limit of time ends it, and says so.
    if (holder?.pid === process.pid) return
    const waiting = Math.max(1, count())
    const isNew = !former || former.holder?.pid !== holder?.pid
    const sinceMs = former ? former.sinceMs : clock.now() - waitedMs
    last = { holder, waiting, sinceMs, metMs: clock.elapsedMs() }
    if (isNew) log.warn({ holder }, describeFileLock(holder, waiting))
  }
  return {
    current,
    async retry(command) {
      let lookAtMs = LOOK_MS
      await retryWhileBusy(clock, command, (waitedMs) => {
        if (waitedMs < lookAtMs) return
        lookAtMs = waitedMs + LOOK_MS
        look(waitedMs)
      })
      last = undefined
    },
  }
}
