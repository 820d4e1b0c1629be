/**
 * Transactions on PostgreSQL: how they begin and end, their statements, their repetition.
 * `postgres-queue.ts` decides which statements are one round trip.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Log } from '../../kernel/log.ts'
import type { Row, Statement, Tx, Value } from './database.ts'
import { referenceLock } from './distribution/row-locks.ts'
import {
  isConnectionLost,
  isRetryable,
  isStalePlan,
  isStandby,
  isUnsupported,
  StaleSnapshotError,
  StandbyError,
  translatePostgresError,
  UnreplicatedError,
  violationOf,
} from './postgres-errors.ts'
import { StatementQueue } from './postgres-queue.ts'
import type { ResultShape } from './postgres-send.ts'
import type { Session, Sessions } from './postgres-session.ts'
import {
  checkValues,
  rejectWhenIdle,
  runInSavepoint,
  storageUnavailable,
  Transaction,
  type TransactionGuard,
} from './transaction.ts'

/** Runs of a transaction that ends in a deadlock or a serialization failure. */
export const ATTEMPTS_MAX = 5
/** Other nodes can end a serializable transaction more often: each of them runs one at a time. */
export const SERIALIZABLE_ATTEMPTS_MAX = 12
const ATTEMPT_PAUSE_MS = 5
/** Transactions that may wait for a connection; further ones are rejected with 503. */
const QUEUE_MAX = 20_000

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
}

export const READ_WRITE: TransactionMode = {
  begin: ['BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE'],
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

const ROW_LOCKS = { update: ' FOR UPDATE', share: ' FOR KEY SHARE' } as const

/** Writers of one total wait for each other only if they use the same row. */
const COUNTER_SLOTS = 16

class PostgresTx implements Tx {
  readonly hasRoundTrips = true
  readonly counterSlots = COUNTER_SLOTS
  readonly #referenceTables: ReadonlySet<string>
  readonly #session: Session
  readonly #queue: StatementQueue
  readonly #transaction: Transaction
  /** The number of savepoints around the current statement. */
  #depth = 0

  constructor(
    session: Session,
    queue: StatementQueue,
    transaction: Transaction,
    referenceTables: ReadonlySet<string>,
  ) {
    this.#referenceTables = referenceTables
    this.#session = session
    this.#queue = queue
    this.#transaction = transaction
  }

  async all<R extends Row>(statement: Statement): Promise<R[]> {
    return (await this.#perform(statement)).rows
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return (await this.#perform(statement)).rows[0]
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return (await this.#perform(statement, { arrays: true })).rows as unknown as Value[][]
  }

  async lock<R extends Row>(statement: Statement): Promise<R | undefined> {
    return (await this.#perform(statement, this.#rowLock(statement, 'update'))).rows[0]
  }

  async hold<R extends Row>(statement: Statement): Promise<R[]> {
    return (await this.#perform(statement, this.#rowLock(statement, 'share'))).rows
  }

  async run(statement: Statement): Promise<number> {
    return (await this.#perform(statement)).rowCount ?? 0
  }

  runLater(statement: Statement): void {
    this.#transaction.requireUsable()
    checkValues(statement.values)
    this.#queue.addStatement(statement, {}, false)
  }

  async insert(statement: Statement): Promise<number> {
    return (await this.#perform(statement, { suffix: ' RETURNING id' })).rows[0].id
  }

  afterCommit(action: () => void): void {
    this.#transaction.requireUsable()
    this.#transaction.afterCommit.push(action)
  }

  async attempt<T>(change: () => Promise<T>): Promise<T> {
    const queue = this.#queue
    const position = queue.position
    // The release of an inner savepoint may be discarded before it is sent: names must differ.
    const name = `attempt_${++this.#depth}`
    const savepoint = {
      set: () => queue.addCommand(`SAVEPOINT ${name}`),
      release: () => queue.addCommand(`RELEASE SAVEPOINT ${name}`),
      rollBack: async () => {
        if (!queue.hasSent(position)) return queue.discardFrom(position)
        await queue.reset()
        await this.#session.query(`ROLLBACK TO SAVEPOINT ${name}; RELEASE SAVEPOINT ${name}`)
      },
    }
    try {
      return await runInSavepoint(this.#transaction, savepoint, change)
    } catch (error) {
      // `write` must receive a deadlock, even if the caller catches it.
      throw isRetryable(error) ? this.#transaction.fail(error) : error
    } finally {
      this.#depth--
    }
  }

  async ddl(sql: string): Promise<void> {
    this.#transaction.requireUsable()
    await this.#queue.complete().catch((error) => this.#fail(error))
    await this.#session.query(sql).catch((error) => this.#fail(error))
  }

  /** Returns the suffix that locks rows; in a reference table, an earlier statement does. */
  #rowLock({ text }: Statement, kind: keyof typeof ROW_LOCKS): ResultShape {
    const tableLock = referenceLock(text, kind, this.#referenceTables)
    if (tableLock === undefined) return { suffix: ROW_LOCKS[kind] }
    this.runLater({ sql: '', text: tableLock, values: [] })
    return {}
  }

  async #perform(statement: Statement, shape: ResultShape = {}): Promise<pg.QueryResult> {
    this.#transaction.requireUsable()
    this.#transaction.openStatements++
    try {
      checkValues(statement.values)
      return await this.#queue.addStatement(statement, shape, true)
    } catch (error) {
      return this.#fail(error)
    } finally {
      this.#transaction.openStatements--
    }
  }

  /** Leaves retryable errors untranslated for `write`. */
  #fail(error: unknown): never {
    this.#transaction.addViolation(violationOf(error))
    throw this.#transaction.fail(isRetryable(error) ? error : translatePostgresError(error))
  }
}

/** The interface of a transaction that also runs DDL. */
export type PostgresDdl = Tx & { readonly ddl: (sql: string) => Promise<void> }

export interface TransactionDeps {
  readonly sessions: Sessions
  readonly guard: TransactionGuard
  readonly log: Log
  /** Empty unless the tables are distributed. */
  readonly referenceTables: ReadonlySet<string>
  /** Receives work that continues after the result of a transaction. */
  readonly track: (running: Promise<unknown>) => void
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
  const session = await sessions.connect()
  const transaction = new Transaction()
  const queue = new StatementQueue(sessions, session, mode)
  let beginError: unknown
  let result: T
  const hasNewViolation = () => {
    const count = formerViolations?.size
    for (const violation of transaction.violations) formerViolations?.add(violation)
    return formerViolations?.size !== count
  }
  const abandon = async (error: unknown): Promise<unknown> => {
    transaction.isOpen = false
    const cause = beginError ?? error
    if (isStandby(cause)) sessions.leaveStandby()
    const isBroken =
      isConnectionLost(cause) || cause instanceof UnreplicatedError || isStalePlan(cause)
    session.release(isBroken || !(await rollBack(session, queue)))
    return cause
  }
  try {
    for (const text of await sessions.begin(session, mode.begin)) {
      queue.addCommand(text, (error) => {
        // 0A000 of a standby; a caller's statement can fail with that code, the begin cannot.
        beginError ??= isUnsupported(error) ? new StandbyError() : error
      })
    }
    const run = () =>
      guard.run(transaction, () =>
        change(new PostgresTx(session, queue, transaction, deps.referenceTables)),
      )
    result = await (mode.endsWhenIdle ? rejectWhenIdle(transaction, run) : run())
    transaction.end()
    if (hasNewViolation()) throw new StaleSnapshotError()
    if (!mode.isReadOnly) await queue.commit()
  } catch (error) {
    // The commit verifies deferred constraints.
    transaction.addViolation(violationOf(error))
    throw await abandon(hasNewViolation() ? new StaleSnapshotError() : error)
  }
  if (mode.isReadOnly) {
    deps.track(queue.commit().then(() => session.release(), abandon))
    return result
  }
  session.release()
  for (const action of transaction.afterCommit) {
    try {
      action()
    } catch (error) {
      log.error({ err: error }, 'an action after a commit failed')
    }
  }
  return result
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

/** Returns whether the rollback succeeded. */
async function rollBack(session: Session, queue: StatementQueue): Promise<boolean> {
  await queue.reset()
  if (!queue.hasSent(0)) return true
  return session.query('ROLLBACK').then(
    () => true,
    () => false, // the pool drops the connection
  )
}
