/**
 * Transactions on PostgreSQL: how they begin and end, their statements, their repetition.
 * `postgres-queue.ts` decides which statements are one round trip.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import { wallClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { originErrorOf } from './database-origin.ts'
import { UnreplicatedError } from './durability-errors.ts'
import type { LockWait } from './lock-wait.ts'
import {
  isConnectionLost,
  isRetryable,
  isStalePlan,
  isStandby,
  translatePostgresError,
  violationOf,
} from './postgres-errors.ts'
import { IDLE_IN_TRANSACTION_MS } from './postgres-hosts.ts'
import { StatementQueue } from './postgres-queue.ts'
import type { Sessions } from './postgres-session.ts'
import { PendingSums, type PostgresDdl, PostgresTx } from './postgres-tx.ts'
import {
  rejectWhenIdle,
  runAfterCommit,
  storageUnavailable,
  Transaction,
  type TransactionGuard,
} from './transaction.ts'
import { type GroupedChange, UnknownOutcome } from './write-groups.ts'

/** Runs of a transaction that ends in a deadlock or a serialization failure. */
export const ATTEMPTS_MAX = 5
/**
 * Other nodes can end a serializable transaction more often: each of them runs one at a time. The
 * pauses between these runs are 3.9 s in all.
 */
export const SERIALIZABLE_ATTEMPTS_MAX = 40
const ATTEMPT_PAUSE_MS = 5
/** Own code waits for longer than the server lets a transaction be idle. */
const KEEP_ALIVE_MS = IDLE_IN_TRANSACTION_MS / 3
/** Transactions that may wait for a connection; further ones are rejected with 503. */
const QUEUE_MAX = 20_000

/** A constraint compared a row with others that the snapshot of the transaction may not contain. */
class StaleSnapshotError extends Error {
  override readonly name = 'StaleSnapshotError'
  readonly code = '40001'

  constructor() {
    super('a constraint was violated that the snapshot of a repeated run may explain')
  }
}

/** How a transaction begins and ends. */
export interface TransactionMode {
  /** BEGIN and the settings of the transaction. */
  readonly begin: readonly string[]
  /** The result does not wait for the end of the transaction. */
  readonly isReadOnly?: boolean
  /** The transaction ends with its first round trip. */
  readonly isSingle?: boolean
  /** The transaction runs own code, and ends when that code waits for something else. */
  readonly endsWhenIdle?: boolean
  /** Limits what its statements wait for locks; undefined: the session does, for each of them. */
  readonly wait?: LockWait
  /** See `WriteOptions`. */
  readonly authority?: CallerAuthority | undefined
  /** See `WriteOptions`. */
  readonly scope?: number | undefined
}

export const READ_WRITE: TransactionMode = {
  begin: ['BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'],
}
export const UNSYNCED: TransactionMode = {
  begin: [...READ_WRITE.begin, 'SET LOCAL synchronous_commit = off'],
}
export const SERIALIZABLE: TransactionMode = {
  begin: ['BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE'],
  endsWhenIdle: true,
}
export const READ_ONLY: TransactionMode = {
  begin: ['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY'],
  isReadOnly: true,
}
/** Ends statements that a cold disk delays; the usual limit is the number of rows. */
const LONG_READ_STATEMENT_MS = 5_000
/**
 * The ORDER BY of these statements determines their index. The settings prevent other plans when
 * the planner's statistics are old.
 */
export const ORDERED: TransactionMode = {
  begin: [
    ...READ_ONLY.begin,
    'SET LOCAL enable_seqscan = off',
    'SET LOCAL enable_bitmapscan = off',
    'SET LOCAL enable_sort = off',
    'SET LOCAL enable_incremental_sort = off',
    // A join then begins with its bounded part, and seeks each row of the other.
    'SET LOCAL enable_hashjoin = off',
    'SET LOCAL enable_mergejoin = off',
  ],
  isReadOnly: true,
}
export const LONG_READ: TransactionMode = {
  begin: [...ORDERED.begin, `SET LOCAL statement_timeout = ${LONG_READ_STATEMENT_MS}`],
  isReadOnly: true,
}

/**
 * Writes that commit together hold their locks until the slowest has ended. So none of them waits
 * long for a lock, and none can wait for a transaction that waits for another one of the group.
 */
const GROUP: TransactionMode = {
  begin: [...READ_WRITE.begin, 'SET LOCAL lock_timeout = 50'],
}

export interface TransactionDeps {
  readonly sessions: Sessions
  readonly guard: TransactionGuard
  readonly log: Log
  /** Empty unless the tables are distributed. */
  readonly referenceTables: ReadonlySet<string>
  /** Receives work that continues after the result of a transaction. */
  readonly track: <T>(running: Promise<T>) => Promise<T>
}

/**
 * Runs a transaction once. Own code runs on a snapshot, and constraints compare with the newest
 * rows. So with `formerViolations` (see `violationOf`) a violation that an earlier run has not met
 * ends in `StaleSnapshotError`, even if the code caught it: the next snapshot contains the other
 * row. A run that meets the violation again has seen that row.
 */
export async function runTransaction<T>(
  deps: TransactionDeps,
  mode: TransactionMode,
  change: (tx: PostgresDdl) => Promise<T>,
  formerViolations?: Set<string>,
): Promise<T> {
  const { sessions, guard, log } = deps
  if (sessions.waitingCount() >= QUEUE_MAX) throw storageUnavailable('the write queue is full')
  // Before it has a connection: the verification may read.
  if (mode.authority?.hasOldAuthority()) await mode.authority.requireAuthority()
  const askedMs = wallClock.elapsedMs()
  const session = await sessions.connect()
  const transaction = new Transaction(mode.scope)
  const queue = new StatementQueue(sessions, session, mode)
  let beginError: unknown
  /** Whether the transaction begins before its first batch: behind a pooler. */
  let isBegun = true
  let result: T
  const hasNewViolation = () => {
    const count = formerViolations?.size
    for (const violation of transaction.violations) formerViolations?.add(violation)
    return formerViolations?.size !== count
  }
  const abandon = async (error: unknown): Promise<unknown> => {
    transaction.isOpen = false
    const cause = beginError ?? error
    if (isStandby(cause)) sessions.leaveStandby(cause)
    const isBroken =
      isConnectionLost(cause) || cause instanceof UnreplicatedError || isStalePlan(cause)
    session.release(isBroken || !(await queue.rollBack(isBegun)))
    return cause
  }
  try {
    const texts = await sessions.begin(session, mode.begin)
    isBegun = texts.length === 0
    for (const text of texts) {
      queue.addCommand(text, (error) => {
        beginError ??= originErrorOf(error)
      })
    }
    // For the connection, which a pooler gives to the begin.
    mode.wait?.add(wallClock.elapsedMs() - askedMs)
    mode.wait?.refuseIfOver()
    queue.limitLocks()
    // Citus reads the horizon on the server of a scope, which has no locks of the coordinator.
    if (deps.referenceTables.size === 0) queue.addMark(mode.scope)
    const sums = mode.endsWhenIdle ? undefined : new PendingSums()
    const tx = new PostgresTx(queue, transaction, deps.referenceTables, sums)
    const run = () => guard.run(transaction, () => change(tx))
    const runOwnCode = () => rejectWhenIdle(transaction, run)
    const keepAlive = () => {
      if (isBegun || queue.hasSent(0)) queue.keepAlive()
    }
    result = await (mode.endsWhenIdle ? repeatWhile(runOwnCode, keepAlive) : run())
    for (const statement of sums?.statements() ?? []) tx.runLater(statement)
    transaction.end()
    if (hasNewViolation()) throw new StaleSnapshotError()
    if (!mode.isReadOnly) await queue.commit()
  } catch (error) {
    // The commit verifies deferred constraints.
    transaction.addViolation(violationOf(error))
    throw await abandon(hasNewViolation() ? new StaleSnapshotError() : error)
  }
  if (mode.isReadOnly) {
    void deps.track(queue.commit().then(() => session.release(), abandon))
    return result
  }
  session.release()
  for (const action of transaction.afterCommit) runAfterCommit(action, log)
  return result
}

/** Runs `body`, and `repeated` in an interval meanwhile. */
async function repeatWhile<T>(body: () => Promise<T>, repeated: () => void): Promise<T> {
  const timer = setInterval(repeated, KEEP_ALIVE_MS)
  try {
    return await body()
  } finally {
    clearInterval(timer)
  }
}

/**
 * Runs changes in one transaction, whose statements interleave, and returns their results. Throws
 * `UnknownOutcome` when the connection was lost at the commit; after any other error nothing is
 * stored, also if one of the callers has lost its rights.
 */
export async function runGroup(
  deps: TransactionDeps,
  changes: readonly GroupedChange[],
): Promise<readonly unknown[]> {
  let isCommitting = false
  const [{ scope }] = changes as readonly [GroupedChange]
  const isOfOne = changes.every((change) => change.scope === scope)
  const mode = { ...GROUP, scope: isOfOne ? scope : undefined }
  for (const { authority, inContext } of changes) {
    if (authority?.hasOldAuthority()) await inContext(() => authority.requireAuthority())
  }
  try {
    return await runTransaction(deps, mode, async (tx) => {
      const members = changes.map((write) => ({
        ...write,
        transaction: new Transaction(write.scope),
      }))
      const run = ({ change, inContext, transaction }: (typeof members)[number]) =>
        inContext(() => deps.guard.run(transaction, () => change(tx.member(transaction))))
      const results = await Promise.allSettled(members.map(run))
      for (const { transaction } of members) transaction.isOpen = false
      const values = results.map((result) => {
        if (result.status === 'rejected') throw result.reason
        return result.value
      })
      for (const { inContext, transaction } of members) {
        transaction.end()
        for (const action of transaction.afterCommit) tx.afterCommit(() => inContext(action))
      }
      isCommitting = true
      return values
    })
  } catch (error) {
    const isUnknown = isConnectionLost(error) || error instanceof UnreplicatedError
    if (!isCommitting || !isUnknown) throw error
    throw new UnknownOutcome('the connection was lost at a commit', {
      cause: translatePostgresError(error),
    })
  }
}

/** Repeats a transaction after a deadlock or a serialization failure. */
export async function withRetries<T>(
  attemptsMax: number,
  body: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await body(attempt)
    } catch (error) {
      if (attempt >= attemptsMax || !isRetryable(error)) throw translatePostgresError(error)
    }
    await delay(attempt * ATTEMPT_PAUSE_MS)
  }
}
