/**
 * Ends statements of customers that wait for locks for too long in all (§18.1). `lock_timeout`
 * limits each wait, and a statement can have several: for the queue of a row, then for its holder.
 * So one of those that wait for a row would get the time twice.
 */
import type { ClientBase } from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import { startInterval } from '../../kernel/interval.ts'
import type { Log } from '../../kernel/log.ts'
import type { Statement } from './database.ts'
import { LOCK_MS, type LockWait } from './lock-wait.ts'
import { prepareStatement } from './sql.ts'

const CHECK_MS = 250
/** The server applies `lock_timeout` first. */
const LATER_MS = 250

/** A statement that executes, however slowly, goes on. */
const WAITING = "FROM pg_stat_activity WHERE pid = ? AND wait_event_type = 'Lock'"
const FIND = prepareStatement(`SELECT xact_start::text AS begun ${WAITING}`)
/** The transaction that waits may have ended meanwhile, and the next one wait. */
const CANCEL = prepareStatement(
  `SELECT pg_cancel_backend(pid) AS sent ${WAITING} AND xact_start::text = ?`,
)

interface WatchedBatch {
  readonly processId: number
  readonly untilMs: number
  readonly wait: LockWait
}

export interface LockWatch {
  /** Follows a batch of statements until its end. */
  follow(session: ClientBase, wait: LockWait | undefined, sent: Promise<void>): Promise<void>
  stop(): Promise<void>
}

export function createLockWatch(
  read: (statement: Statement) => Promise<readonly unknown[]>,
  log: Log,
): LockWatch {
  const batches = new Set<WatchedBatch>()
  const stop = startInterval({
    intervalMs: CHECK_MS,
    async run() {
      const now = wallClock.elapsedMs()
      for (const batch of batches) {
        const { processId, untilMs, wait } = batch
        if (untilMs > now) continue
        const [waiting] = (await read(FIND([processId]))) as { readonly begun: string }[]
        if (!waiting || !batches.has(batch)) continue
        // The end of the statement may arrive before that of CANCEL.
        wait.isCancelled = true
        const sent = await read(CANCEL([processId, waiting.begun]))
        wait.isCancelled = sent.length > 0
      }
    },
    log,
    failure: 'statements that wait for locks could not be ended',
  })
  return {
    stop,
    follow(session, wait, sent) {
      if (!wait) return sent
      const { processID: processId } = session as unknown as { readonly processID: number }
      const untilMs = wallClock.elapsedMs() + (wait.limitMs ?? LOCK_MS) + LATER_MS
      const batch = { processId, untilMs, wait }
      batches.add(batch)
      return sent.finally(() => batches.delete(batch))
    },
  }
}
