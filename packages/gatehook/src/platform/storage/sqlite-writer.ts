/**
 * The queue of SQLite's one writer connection: waiting transactions commit together, and each
 * resolves when the log is on disk (docs/decisions/0002). Contains no SQL.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import { shareKeyOf } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import { budgetOf, type ChangeBudget } from './change-budget.ts'
import type { Tx, WriteOptions } from './database.ts'
import { rejectWhenIdle, runAfterCommit, storageUnavailable, Transaction } from './transaction.ts'
import { LONG_MS, WriteLanes } from './write-lanes.ts'

/** Transactions in one commit. Limits the time in which a batch blocks reads to about 2 ms. */
const BATCH_MAX = 64
/**
 * Event-loop iterations without a new transaction, after which a batch that is smaller than the
 * previous one starts. Callers of the previous batch often write again at once.
 */
const IDLE_TICKS_MAX = 4
/** Waiting transactions, about one second of work. Further ones are rejected with 503. */
const QUEUE_MAX = 20_000

/** Long transactions wait for a verification, which usually takes milliseconds. */
const HOLD_MS = 100

/** The operations of the writer connection. All except `sync` run on this thread. */
export interface WriterConnection {
  /** Runs `BEGIN IMMEDIATE`; waits, without blocking, while another process writes. */
  begin(): Promise<void>
  commit(): Promise<void>
  rollback(): void
  savepoint(): void
  release(): void
  rollbackToSavepoint(): void
  /** False when SQLite itself has rolled back the transaction (disk full, I/O error). */
  readonly inTransaction: boolean
  /** Runs `change` with a handle that is valid until `transaction` ends. */
  perform(transaction: Transaction, change: (tx: Tx) => Promise<unknown>): Promise<unknown>
  /** Resolves when everything committed before the call is on disk. */
  sync(): Promise<void>
}

interface WriteJob {
  readonly customer: TurnKey | undefined
  readonly caller: TurnKey | undefined
  readonly isLarge: boolean | undefined
  readonly sinceMs: number
  readonly change: (tx: Tx) => Promise<unknown>
  /** See `WriteOptions`. */
  readonly authority: CallerAuthority | undefined
  /** See `WriteOptions`. */
  readonly scope: number | undefined
  /** Whether it resolves before the sync. */
  readonly isUnsynced: boolean
  /** Whether it runs own code, which may wait for something other than the database. */
  readonly endsWhenIdle: boolean
  /** Runs a function in the async context of the caller. */
  readonly inContext: <T>(body: () => T) => T
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  transaction: Transaction
  /** Whether its caller was verified when its turn came. */
  isVerified: boolean
  /** The budget of its last run. */
  budget?: ChangeBudget
  value: unknown
}

interface TimedRun {
  readonly job: WriteJob
  readonly ms: number
}

export class WriteQueue {
  readonly #connection: WriterConnection
  readonly #log: Log
  readonly #clock: Pick<Clock, 'elapsedMs'>
  readonly #waiting: WriteLanes<WriteJob>
  #committed: WriteJob[] = []
  /** Jobs whose turn came, and whose caller is verified again before they run. */
  readonly #verifying = new Set<Promise<void>>()
  #running: Promise<void> | undefined
  /** Until a customer with long transactions has rested. */
  #resting: NodeJS.Timeout | undefined
  #syncing: Promise<void> | undefined
  /** Transactions in the last commit. */
  #expectedSize = 0
  /** Whether the next batch sets a savepoint before each transaction. */
  #needsSavepoints = false
  /** The error after which all writes are rejected. */
  #fatalError: unknown

  constructor(connection: WriterConnection, log: Log, clock: Pick<Clock, 'elapsedMs'>) {
    this.#connection = connection
    this.#log = log
    this.#clock = clock
    this.#waiting = new WriteLanes(clock)
  }

  write<T>(change: (tx: Tx) => Promise<T>, options: WriteOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#fatalError !== undefined) throw storageUnavailable(this.#fatalError)
      if (this.#waiting.length >= QUEUE_MAX) throw storageUnavailable('the write queue is full')
      this.#waiting.add({
        change,
        customer: options.customer && shareKeyOf(options.customer),
        caller: options.caller,
        isLarge: options.isLarge,
        authority: options.authority,
        scope: options.scope,
        sinceMs: this.#clock.elapsedMs(),
        isUnsynced: options.unsynced ?? false,
        endsWhenIdle: options.serializable ?? false,
        inContext: AsyncLocalStorage.snapshot(),
        resolve: resolve as (value: unknown) => void,
        reject,
        isVerified: false,
        transaction: new Transaction(), // replaced for each run
        value: undefined,
      })
      this.#proceed()
    })
  }

  /** Returns the number of transactions that wait for their batch or for the sync. */
  get length(): number {
    return this.#waiting.length + this.#verifying.size + this.#committed.length
  }

  /** Resolves when every waiting transaction has resolved or rejected. */
  async drain(): Promise<void> {
    this.#waiting.endRest()
    this.#proceed()
    while (this.#running || this.#syncing || this.#verifying.size > 0) {
      await this.#running
      await this.#syncing
      await Promise.all(this.#verifying)
    }
  }

  /**
   * Starts the next batch. A commit writes every changed page, so one commit for all transactions
   * that arrive during a sync costs less than two. Only a full batch does not wait for the sync
   * (decision 0002).
   */
  #proceed(): void {
    const { length } = this.#waiting
    if (length === 0 || (this.#syncing && length < BATCH_MAX)) return
    clearTimeout(this.#resting)
    const { restMs } = this.#waiting
    if (restMs === Number.POSITIVE_INFINITY) return // until the end of a hold
    if (restMs > 0) {
      this.#resting = setTimeout(() => this.#proceed(), restMs)
      return
    }
    this.#running ??= this.#runBatch().finally(() => {
      this.#running = undefined
      this.#proceed()
    })
  }

  async #runBatch(): Promise<void> {
    await this.#gather()
    try {
      await this.#commitBatch()
    } catch (error) {
      this.#stop(error) // the rollback failed too: the connection is unusable
    }
  }

  /** Lets the server read its sockets between two batches, so that new writes join the next one. */
  async #gather(): Promise<void> {
    for (let idleTicks = 0; idleTicks < IDLE_TICKS_MAX; ) {
      const { length } = this.#waiting
      await nextTick()
      if (this.#waiting.length >= this.#expectedSize) return
      idleTicks = this.#waiting.length === length ? idleTicks + 1 : 0
    }
  }

  async #commitBatch(): Promise<void> {
    const connection = this.#connection
    try {
      await connection.begin()
    } catch (error) {
      for (const job of this.#waiting.clear()) job.reject(error)
      return
    }
    const open: WriteJob[] = []
    const runs: TimedRun[] = []
    const hasSavepoints = this.#needsSavepoints
    this.#needsSavepoints = false
    const nextJob = this.#waiting.begin()
    const beganMs = this.#clock.elapsedMs()
    const hasTime = () => this.#clock.elapsedMs() - beganMs < LONG_MS
    try {
      // A long transaction is the last one of its batch: others do not wait for more than it. Each
      // batch takes one, also after a pause of the process.
      while (open.length === 0 || (open.length < BATCH_MAX && hasTime())) {
        const job = nextJob()
        if (!job) break
        if (!job.isVerified && job.authority?.hasOldAuthority()) {
          this.#verify(job, job.authority)
          continue
        }
        const startMs = this.#clock.elapsedMs()
        const isApplied = await this.#run(job, hasSavepoints)
        runs.push({ job, ms: this.#clock.elapsedMs() - startMs })
        if (!connection.inTransaction)
          throw storageUnavailable('SQLite rolled the transaction back')
        if (isApplied) open.push(job)
        else if (job.transaction.writes > 0 && !hasSavepoints) return this.#retry(open)
      }
      await connection.commit()
    } catch (error) {
      for (const job of open) job.reject(error)
      if (connection.inTransaction) connection.rollback()
      return
    } finally {
      this.#note(runs, this.#clock.elapsedMs() - beganMs)
    }
    if (open.length === 0) return // each transaction was rejected
    this.#expectedSize = open.length
    for (const job of open) {
      if (job.isUnsynced) this.#acknowledge(job)
      else this.#committed.push(job)
    }
    if (this.#committed.length > 0) this.#syncing ??= this.#syncCommits()
  }

  /**
   * Verifies the caller of a job beside the writes of others; the job is then the next one. It is
   * verified once: a transaction that took its turn meanwhile would end each verification's time.
   */
  #verify(job: WriteJob, authority: CallerAuthority): void {
    job.isVerified = true
    const verification = job
      .inContext(() => authority.requireAuthority())
      .then(() => {
        if (this.#fatalError !== undefined) throw storageUnavailable(this.#fatalError)
        this.#waiting.restore([job])
      })
      .catch(job.reject)
      .finally(() => {
        this.#verifying.delete(verification)
        clearTimeout(timer)
        end()
      })
    const end = () => {
      this.#waiting.endHold(job)
      this.#proceed()
    }
    const timer = setTimeout(end, HOLD_MS)
    this.#waiting.hold(job)
    this.#verifying.add(verification)
  }

  /** Each transaction also took its part of the commit, which blocks reads as well. */
  #note(runs: readonly TimedRun[], batchMs: number): void {
    const runMs = runs.reduce((sum, { ms }) => sum + ms, 0)
    for (const { job, ms: ownMs } of runs) {
      const ms = runMs > 0 ? (ownMs / runMs) * batchMs : 0
      this.#waiting.note(job, ms, ms >= LONG_MS || job.budget?.isLarge)
    }
  }

  /** Returns whether the open transaction contains the job's changes; rejects the job otherwise. */
  async #run(job: WriteJob, hasSavepoints: boolean): Promise<boolean> {
    const connection = this.#connection
    const transaction = new Transaction(job.scope)
    job.transaction = transaction
    const run = () =>
      connection.perform(transaction, (tx) => {
        job.budget = budgetOf(tx)
        return job.change(tx)
      })
    try {
      if (hasSavepoints) connection.savepoint()
      job.value = await job.inContext(() =>
        job.endsWhenIdle ? rejectWhenIdle(transaction, run) : run(),
      )
      job.transaction.end()
      if (hasSavepoints) connection.release()
      return true
    } catch (error) {
      job.transaction.isOpen = false
      job.reject(error)
      if (hasSavepoints && connection.inTransaction) connection.rollbackToSavepoint()
      return false
    }
  }

  /**
   * Repeats the batch without the failed transaction. A savepoint costs 7 µs, and transactions
   * rarely fail after their first write. So a batch has no savepoints at first. When a transaction
   * fails after a write, the batch rolls back and the others run again with savepoints.
   */
  #retry(others: WriteJob[]): void {
    this.#connection.rollback()
    this.#waiting.restore(others)
    this.#needsSavepoints = true
  }

  /** Runs one sync at a time; the next one covers commits during this one. */
  async #syncCommits(): Promise<void> {
    await undefined // or it might end before its caller has stored it in #syncing
    while (this.#committed.length > 0) {
      const covered = this.#committed
      this.#committed = []
      try {
        if (this.#fatalError === undefined) await this.#connection.sync()
      } catch (error) {
        this.#stop(error)
      }
      for (const job of covered) {
        if (this.#fatalError === undefined) this.#acknowledge(job)
        else job.reject(storageUnavailable(this.#fatalError))
      }
    }
    // No await between the check above and this line: a later batch must start its own sync.
    this.#syncing = undefined
    this.#proceed()
  }

  #acknowledge(job: WriteJob): void {
    for (const action of job.transaction.afterCommit) {
      runAfterCommit(() => job.inContext(action), this.#log)
    }
    job.resolve(job.value)
  }

  /**
   * Rejects all writes until the file is reopened. After a failed sync the kernel may have dropped
   * unwritten pages, and a second sync would report success without them.
   */
  #stop(error: unknown): void {
    this.#fatalError = error
    this.#log.fatal({ err: error }, 'the database log could not be synced; no more writes')
    for (const job of this.#waiting.clear()) job.reject(storageUnavailable(error))
  }
}
