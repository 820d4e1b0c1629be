/**
 * Ends statements of customers that wait for locks for too long in all (§18.1). `lock_timeout`
 * limits each wait, and a statement can have several: for the queue of a row, then for its holder.
 * So one of those that wait for a row would get the time twice.
 */
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
/** The same in each session, whatever its time zone is. */
const textOf = (time: string) => `extract(epoch FROM ${time})::text`
const FIND = prepareStatement(`SELECT ${textOf('xact_start')} AS begun ${WAITING}`)
/** The transaction that waits may have ended meanwhile, and the next one wait. */
const CANCEL = prepareStatement(
  `SELECT pg_cancel_backend(pid) AS sent ${WAITING} AND ${textOf('xact_start')} = ?`,
)

/** Returns the `ServerTransaction` of the session that executes it. */
export const READ_TRANSACTION = `SELECT pg_backend_pid() AS "processId",
  ${textOf('transaction_timestamp()')} AS begun`

/** A transaction, as the server names it. */
export interface ServerTransaction {
  readonly processId: number
  /** Undefined: the process executes the transactions of one session. */
  readonly begun?: string
}

interface WatchedBatch extends ServerTransaction {
  readonly untilMs: number
  readonly wait: LockWait
}

export interface LockWatch {
  /** Follows a batch of statements until its end. */
  follow(
    transaction: ServerTransaction | undefined,
    wait: LockWait | undefined,
    sent: Promise<void>,
  ): Promise<void>
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
        const { processId, begun, untilMs, wait } = batch
        if (untilMs > now) continue
        const [waiting] = (await read(FIND([processId]))) as { readonly begun: string }[]
        if (!waiting || !batches.has(batch)) continue
        // A pooler has given the process to another session.
        if (begun !== undefined && begun !== waiting.begun) continue
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
    follow(transaction, wait, sent) {
      if (!wait || !transaction) return sent
      const untilMs = wallClock.elapsedMs() + (wait.limitMs ?? LOCK_MS) + LATER_MS
      const batch = { ...transaction, untilMs, wait }
      batches.add(batch)
      return sent.finally(() => batches.delete(batch))
    },
  }
}
