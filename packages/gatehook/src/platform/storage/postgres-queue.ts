/**
 * The statements of one transaction on PostgreSQL. They wait until the code of the transaction
 * waits for one of them, and are then one round trip. BEGIN is part of the first round trip, COMMIT
 * of the last one.
 */
import type pg from 'pg'
import { wallClock } from '../../kernel/clock.ts'
import { COMMIT_POSITION } from './commit-position.ts'
import type { Statement } from './database.ts'
import { discardedBy, isDiscarded } from './discarded-rows.ts'
import type { LockWait } from './lock-wait.ts'
import type { BatchStatement } from './postgres-batch.ts'
import { markOf } from './postgres-horizon.ts'
import { type ResultShape, textWith } from './postgres-send.ts'
import type { Session, Sessions } from './postgres-session.ts'
import { isRolledBack, RolledBackError } from './rolled-back.ts'

const ignore = (): void => {}
const commandOf = (text: string): BatchStatement => ({
  text,
  values: [],
  isCommand: true,
  resolve: ignore,
  reject: ignore,
})
const CLOSED = 'bug: the transaction has ended'
const limitLocks = (ms: number): string => `SET LOCAL lock_timeout = ${ms}`

/** So that no code waits for a statement that is never sent. */
function rejectUnsent(statements: readonly BatchStatement[]): void {
  for (const { reject } of statements) reject(new Error('rolled back before it was sent'))
}

const KEEP_ALIVE: BatchStatement = { text: 'SELECT 1', values: [], resolve: ignore, reject: ignore }

interface QueueMode {
  readonly isSingle?: boolean
  readonly isReadOnly?: boolean
  readonly wait?: LockWait
}

export class StatementQueue {
  readonly #sessions: Sessions
  readonly #session: Session
  readonly #isSingle: boolean
  readonly #isReadOnly: boolean
  readonly #wait: LockWait | undefined
  #waiting: BatchStatement[] = []
  /** Ends with the last round trip. */
  #sending: Promise<void> = Promise.resolve()
  #isScheduled = false
  #isEnded = false
  #isSending = false
  #failure: { readonly error: unknown } | undefined
  #sentCount = 0
  /** Whether the transaction has ended: its session is, or will be, that of another one. */
  #isClosed = false

  /** `isSingle`: the transaction ends with its first round trip. */
  constructor(
    sessions: Sessions,
    session: Session,
    { isSingle = false, isReadOnly = false, wait }: QueueMode,
  ) {
    this.#sessions = sessions
    this.#session = session
    this.#isSingle = isSingle
    this.#isReadOnly = isReadOnly
    this.#wait = wait
  }

  /** The number of statements that were added before. */
  get position(): number {
    return this.#sentCount + this.#waiting.length
  }

  /** Whether the statement at a position was sent. */
  hasSent(position: number): boolean {
    return this.#sentCount > position
  }

  /** Adds a command without values; `onError` runs if the command, or one before it, fails. */
  addCommand(text: string, onError: (error: unknown) => void = ignore): void {
    this.#add({ ...commandOf(text), name: this.#sessions.nameOf(text), reject: onError })
  }

  /** Adds the limit for locks, after the begin of the transaction, if it has waited until now. */
  limitLocks(): void {
    const limitMs = this.#wait?.limitMs
    if (limitMs !== undefined) this.#add(commandOf(limitLocks(limitMs)))
  }

  /** Marks the transaction with the scope of its events, in its first round trip. */
  addMark(scope: number | undefined): void {
    const mark = markOf(scope)
    if (mark) void this.addStatement(mark, {}, false)
  }

  /** Uses the session unless it is in use: own code waits for something else. */
  keepAlive(): void {
    if (this.#isSending) return
    if (this.#waiting.length === 0) this.#add(KEEP_ALIVE)
    void this.flush()
  }

  /** Adds a statement. `isAwaited`: it is sent when the current code waits for its result. */
  addStatement(statement: Statement, shape: ResultShape, isAwaited: boolean) {
    if (this.#isEnded) throw new Error('bug: this transaction ends with its first round trip')
    const text = textWith(statement, shape.suffix)
    const { values } = statement
    const name = statement.planned ? undefined : this.#sessions.nameOf(text)
    const result = new Promise<pg.QueryResult>((resolve, reject) => {
      this.#add({ text, name, values, arrays: shape.arrays, resolve, reject })
    })
    // The transaction fails with the error, whether or not the caller waits for this statement.
    result.catch(ignore)
    if (isAwaited && !this.#isScheduled) {
      this.#isScheduled = true
      process.nextTick(() => this.flush())
    }
    return result
  }

  #add(statement: BatchStatement): void {
    if (this.#isClosed) throw new Error(CLOSED)
    const reject = (error: unknown) => {
      this.#failure ??= { error }
      statement.reject(error)
    }
    const resolve = (result: pg.QueryResult) => {
      if (isRolledBack(statement.text, result)) return reject(new RolledBackError())
      if (!isDiscarded(statement.text, result.rowCount)) return statement.resolve(result)
      // Until the next check of the tables: further commits wait for their statements.
      this.#sessions.tables.discardsRows = true
      reject(discardedBy(statement.text))
    }
    this.#waiting.push({ ...statement, resolve, reject })
  }

  #addCommit(): void {
    this.addCommand('COMMIT')
    const { commits } = this.#sessions
    if (!commits || this.#isReadOnly) return
    const { text, values } = COMMIT_POSITION
    const resolve = ({ rows }: pg.QueryResult) => commits.note(rows[0])
    this.#add({ text, values, name: this.#sessions.nameOf(text), resolve, reject: ignore })
  }

  /** Discards the statements from a position on, none of which was sent. */
  discardFrom(position: number): void {
    const failure = this.#failure
    rejectUnsent(this.#waiting.splice(position - this.#sentCount))
    this.#failure = failure
  }

  /** Sends the waiting statements; resolves at the end of their round trip. */
  flush(): Promise<void> {
    this.#isScheduled = false
    return (this.#sending = this.#sending.then(() => this.#send()))
  }

  async #send(): Promise<void> {
    if (this.#waiting.length === 0) return
    if (this.#isSingle && !this.#isEnded && !this.#sessions.tables.discardsRows) {
      this.#isEnded = true
      this.#addCommit()
    }
    const statements = this.#waiting
    this.#waiting = []
    const failure = this.#failure
    if (failure) {
      for (const { reject } of statements) reject(failure.error)
      return
    }
    const limitMs = this.#sentCount > 0 ? this.#wait?.limitMs : undefined
    this.#sentCount += statements.length
    if (limitMs !== undefined) statements.unshift(commandOf(limitLocks(limitMs)))
    const sentMs = wallClock.elapsedMs()
    this.#isSending = true
    await this.#sessions.sendBatch(this.#session, statements, this.#wait)
    this.#isSending = false
    this.#wait?.add(wallClock.elapsedMs() - sentMs)
  }

  /** Like `flush`; throws if a statement has failed. */
  async complete(): Promise<void> {
    await this.flush()
    if (this.#failure) throw this.#failure.error
  }

  /** Commits, in the round trip of the waiting statements if possible. */
  async commit(): Promise<void> {
    await this.#commit()
    this.#isClosed = true
  }

  async #commit(): Promise<void> {
    if (this.#isEnded) return this.complete()
    // Only the process sees that a row was discarded, so that the commit waits for its statements.
    if (this.#sessions.tables.discardsRows) await this.complete()
    if (this.#sessions.commitsInBatch) {
      this.#addCommit()
      return this.complete()
    }
    await this.complete()
    await this.#sessions.commit(this.#session)
  }

  /** Runs SQL without values, beside the queue. Throws after the end of the transaction. */
  async query(text: string): Promise<void> {
    if (this.#isClosed) throw new Error(CLOSED)
    await this.#session.query(text)
  }

  /**
   * Rolls the transaction back, if it has begun. Nothing is sent any more: others use the session
   * then. Returns whether that succeeded.
   */
  async rollBack(isBegun: boolean): Promise<boolean> {
    this.#isClosed = true
    await this.reset()
    if (!isBegun && !this.hasSent(0)) return true
    return this.#session.query('ROLLBACK').then(
      () => true,
      () => false, // the pool drops the connection
    )
  }

  /** Waits for sent statements, discards the others, and clears the failure. */
  async reset(): Promise<void> {
    rejectUnsent(this.#waiting.splice(0))
    await this.#sending
    this.#failure = undefined
  }
}
