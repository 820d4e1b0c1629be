/**
 * The queue before SQLite's one writer connection: transactions that wait are committed together,
 * and callers are answered when the log is on disk (docs/decisions/0002). It knows no SQL.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Log } from '../kernel/log.ts'
import type { Tx } from './database.ts'
import { Span, unavailable } from './transaction.ts'

/** Transactions in one commit. Bounds how long a batch keeps the thread from reading: some 2 ms. */
const BATCH_MAX = 64
/**
 * Turns of the event loop without a newcomer, after which a batch that is smaller than the one
 * before waits no longer: those who were answered a moment ago mostly come again.
 */
const QUIET_TURNS_MAX = 4
/** Transactions that may wait, about a second's worth. Beyond it callers are told to come again. */
const QUEUE_MAX = 20_000

/** The writer connection, as far as the queue needs it. All but `sync` run on this thread. */
export interface WriterConnection {
  /** `BEGIN IMMEDIATE`; waits, without blocking, while another process writes. */
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): void
  savepoint(): void
  release(): void
  rollbackToSavepoint(): void
  /** False when SQLite has rolled everything back by itself (disk full, I/O error). */
  readonly inTransaction: boolean
  /** Runs `change` in the caller's name, on a handle that ends with `span`. */
  perform(span: Span, change: (tx: Tx) => Promise<unknown>): Promise<unknown>
  /** Resolves when everything committed before the call is on disk. */
  sync(): Promise<void>
}

interface Job {
  readonly change: (tx: Tx) => Promise<unknown>
  /** Runs a function in the async context of the caller, not in that of who happened to wake us. */
  readonly inContext: <T>(body: () => T) => T
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  span: Span
  value: unknown
}

export class WriteQueue {
  readonly #connection: WriterConnection
  readonly #log: Log
  #waiting: Job[] = []
  #committed: Job[] = []
  #draining: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  /** Transactions in the last commit. */
  #expected = 0
  /** Whether the next batch takes a savepoint before each transaction. */
  #careful = false
  /** Why nothing can be written any more. */
  #dead: unknown

  constructor(connection: WriterConnection, log: Log) {
    this.#connection = connection
    this.#log = log
  }

  write<T>(change: (tx: Tx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#dead !== undefined) throw unavailable(this.#dead)
      if (this.#waiting.length >= QUEUE_MAX) throw unavailable('the write queue is full')
      this.#waiting.push({
        change,
        inContext: AsyncLocalStorage.snapshot(),
        resolve: resolve as (value: unknown) => void,
        reject,
        span: new Span(), // another one for each run
        value: undefined,
      })
      this.#proceed()
    })
  }

  /** Those that wait, for their turn or for the disk. */
  get length(): number {
    return this.#waiting.length + this.#committed.length
  }

  /** Resolves when all that waits has been answered. */
  async drained(): Promise<void> {
    while (this.#draining || this.#syncing) {
      await this.#draining
      await this.#syncing
    }
  }

  /**
   * A commit writes every page its rows touched: one for all that come during a sync costs less
   * than two for halves of them. Only a full batch does not wait for the disk (decision 0002).
   */
  #proceed(): void {
    const { length } = this.#waiting
    if (length === 0 || (this.#syncing && length < BATCH_MAX)) return
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined
      this.#proceed()
    })
  }

  async #drain(): Promise<void> {
    await this.#gathered()
    try {
      await this.#batch()
    } catch (error) {
      this.#die(error) // not even a rollback works: the connection is of no use
    }
  }

  /** Sockets are served between two batches, and what they bring joins the next one. */
  async #gathered(): Promise<void> {
    for (let quiet = 0; quiet < QUIET_TURNS_MAX; ) {
      const { length } = this.#waiting
      await nextTurn()
      if (this.#waiting.length >= this.#expected) return
      quiet = this.#waiting.length === length ? quiet + 1 : 0
    }
  }

  async #batch(): Promise<void> {
    const connection = this.#connection
    try {
      await connection.begin()
    } catch (error) {
      for (const job of this.#waiting.splice(0)) job.reject(error)
      return
    }
    const open: Job[] = []
    const careful = this.#careful
    this.#careful = false
    try {
      while (open.length < BATCH_MAX) {
        const job = this.#waiting.shift()
        if (!job) break
        const stands = await this.#run(job, careful)
        if (!connection.inTransaction) throw unavailable('SQLite rolled the transaction back')
        if (stands) open.push(job)
        else if (job.span.wrote && !careful) return this.#redo(open)
      }
      await connection.commit()
    } catch (error) {
      for (const job of open) job.reject(error)
      if (connection.inTransaction) connection.rollback()
      return
    }
    if (open.length === 0) return // each was refused and told so
    this.#expected = open.length
    this.#committed.push(...open)
    this.#syncing ??= this.#sync()
  }

  /** True when the job's changes stand in the open transaction; else its caller has been told. */
  async #run(job: Job, careful: boolean): Promise<boolean> {
    const connection = this.#connection
    job.span = new Span()
    try {
      if (careful) connection.savepoint()
      job.value = await job.inContext(() => connection.perform(job.span, job.change))
      job.span.end()
      if (careful) connection.release()
      return true
    } catch (error) {
      job.span.open = false
      job.reject(error)
      if (careful && connection.inTransaction) connection.rollbackToSavepoint()
      return false
    }
  }

  /**
   * A savepoint for each costs 7 µs, and hardly a transaction fails once it has written: checks
   * come first. So there is none, until one leaves changes among those of the others: then all is
   * undone, and the others run again in a batch that has them.
   */
  #redo(others: Job[]): void {
    this.#connection.rollback()
    this.#waiting.unshift(...others)
    this.#careful = true
  }

  /** One sync at a time; what was committed while it ran is covered by the next. */
  async #sync(): Promise<void> {
    while (this.#committed.length > 0) {
      const covered = this.#committed
      this.#committed = []
      try {
        if (this.#dead === undefined) await this.#connection.sync()
      } catch (error) {
        this.#die(error)
      }
      for (const job of covered) {
        if (this.#dead === undefined) this.#settle(job)
        else job.reject(unavailable(this.#dead))
      }
    }
    // In the same turn as the check above: a batch that commits later must find no sync running.
    this.#syncing = undefined
    this.#proceed()
  }

  #settle(job: Job): void {
    for (const action of job.span.afterCommit) {
      try {
        job.inContext(action)
      } catch (error) {
        this.#log.error({ err: error }, 'an action after a commit failed')
      }
    }
    job.resolve(job.value)
  }

  /**
   * After a failed sync the kernel may have dropped the pages it could not write, and a second sync
   * would report success without them. So nothing is acknowledged until the file is opened anew.
   */
  #die(error: unknown): void {
    this.#dead = error
    this.#log.fatal({ err: error }, 'the database log could not be synced; no more writes')
    for (const job of this.#waiting.splice(0)) job.reject(unavailable(error))
  }
}
