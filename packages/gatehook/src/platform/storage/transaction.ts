/**
 * The rules for transactions that both databases share: their lifetime, their savepoints, the bound
 * for own code that waits, and the values that statements may contain. Contains no database access.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Failure } from '../../kernel/failure.ts'
import type { Log } from '../../kernel/log.ts'

/** The state of one transaction from its first statement to its end. */
export class Transaction {
  isOpen = true
  /** See `WriteOptions`. */
  readonly scope: number | undefined
  /** The number of statements that have changed rows, or may have. */
  writes = 0
  readonly afterCommit: (() => void)[] = []
  /** Uses of the handle: statements, savepoints, actions after the commit. */
  uses = 0
  /** Statements that have been sent and not answered; always 0 on SQLite. */
  openStatements = 0
  /** The violated constraints with their values (PostgreSQL), also those of undone statements. */
  readonly violations = new Set<string>()
  #failed: { readonly error: unknown } | undefined

  constructor(scope?: number) {
    this.scope = scope
  }

  /** Throws when the transaction has ended, or when one of its statements has failed. */
  requireUsable(): void {
    this.requireOpen()
    if (this.#failed) throw this.#failed.error
    this.uses++
  }

  /** Throws when the transaction has ended. */
  requireOpen(): void {
    if (!this.isOpen) throw new Error('bug: this transaction has ended; its handle is invalid')
  }

  /** Records the error of the first failed statement, and returns `error`. */
  fail(error: unknown): unknown {
    this.#failed ??= { error }
    return error
  }

  addViolation(violation: string | undefined): void {
    if (violation !== undefined) this.violations.add(violation)
  }

  /** Whether no statement has failed. */
  get isSound(): boolean {
    return this.#failed === undefined
  }

  /** Clears the failure after a rollback to a savepoint that precedes it. */
  recover(): void {
    this.#failed = undefined
  }

  /**
   * Ends the transaction. Throws when a statement has failed, even if its error was caught:
   * PostgreSQL cannot commit then, and SQLite behaves the same.
   */
  end(): void {
    this.isOpen = false
    if (this.#failed) throw this.#failed.error
  }
}

/**
 * The interval in which own code must use its transaction. Other writers wait for it: on SQLite all
 * of them, on PostgreSQL those that need its connection or its locks.
 */
export const IDLE_MS = 10_000

/**
 * Runs own code in its transaction. Rejects when the code awaits something other than the database
 * for `IDLE_MS` to twice that time; the transaction then rolls back.
 */
export async function rejectWhenIdle<T>(
  transaction: Transaction,
  run: () => Promise<T>,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  let uses = 0
  const idle = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const isIdle = transaction.uses === uses && transaction.openStatements === 0
      if (isIdle) reject(new Error(`own code has not used its transaction for ${IDLE_MS / 1000} s`))
      uses = transaction.uses
    }, IDLE_MS)
  })
  try {
    return await Promise.race([run(), idle])
  } finally {
    clearInterval(timer)
  }
}

/** Runs an action after a commit. An error of it, also a later one, changes nothing any more. */
export function runAfterCommit(action: () => unknown, log: Log): void {
  const report = (err: unknown) => log.error({ err }, 'an action after a commit failed')
  try {
    const result = action()
    if (result instanceof Promise) result.catch(report)
  } catch (error) {
    report(error)
  }
}

/** Sets, releases and rolls back to one savepoint. */
export interface Savepoint {
  readonly set: () => Promise<unknown> | unknown
  readonly release: () => Promise<unknown> | unknown
  readonly rollBack: () => Promise<unknown> | unknown
}

/**
 * Runs `change` in a savepoint; an exception undoes its changes and `afterCommit` actions. Code can
 * go on when its transaction has ended: the connection then has the transaction of others.
 */
export async function runInSavepoint<T>(
  transaction: Transaction,
  savepoint: Savepoint,
  change: () => Promise<T>,
): Promise<T> {
  transaction.requireUsable()
  const actionCount = transaction.afterCommit.length
  await savepoint.set()
  try {
    const value = await change()
    transaction.requireOpen()
    if (transaction.isSound) await savepoint.release()
    return value
  } catch (error) {
    if (!transaction.isOpen) throw error
    try {
      await savepoint.rollBack()
    } catch {
      throw transaction.fail(error) // the whole transaction failed: disk full, connection lost
    }
    transaction.recover()
    transaction.afterCommit.length = actionCount
    throw error
  }
}

/** Detects uses of the database from inside one of its own transactions. */
export interface TransactionGuard {
  /** Throws when called from inside a transaction or a snapshot. */
  refuseInside(method: string): void
  run<T>(transaction: Transaction, body: () => Promise<T>): Promise<T>
}

export function createTransactionGuard(): TransactionGuard {
  const inside = new AsyncLocalStorage<Transaction>()
  return {
    refuseInside(method) {
      if (!inside.getStore()?.isOpen) return
      throw new Error(
        `a read or write outside of the open transaction (db.${method}) would wait for it; ` +
          'inside write, use tx, such as tx.list instead of read.list',
      )
    },
    run: (transaction, body) => inside.run(transaction, body),
  }
}

/**
 * Rejects values that the two databases would store differently. Booleans, undefined, NaN and
 * objects throw `TypeError`. Text with NUL or an unpaired surrogate may come from the client and
 * throws `Failure` `invalid_request`.
 *
 * @see §10.4
 */
export function checkValues(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'string') {
      if (!value.includes('\0') && value.isWellFormed()) continue
      throw new Failure('invalid_request', 'Text cannot contain NUL or an unpaired surrogate.')
    }
    if (typeof value === 'number' && Number.isFinite(value)) continue
    if (value === null || value instanceof Uint8Array) continue
    throw new TypeError(`bug: a ${typeof value} cannot be stored; text, number, null or bytes can`)
  }
}

/** Creates the failure for a database that cannot store or read now; `detail` is for the log. */
export const storageUnavailable = (detail: unknown): Failure =>
  new Failure('storage_unavailable', undefined, { detail })

/** Creates the failure for a statement that met a damaged page. */
export const storageDamaged = (detail: unknown): Failure =>
  new Failure('storage_unavailable', 'The database is damaged. It has to be restored.', { detail })

/** The message of the triggers that reject writes to a moved database (`move/changes.ts`). */
export const MOVED_MESSAGE = 'gatehook: moved'

const MOVED_RETRY_AFTER_S = 30

/** The sentence of the source for operators and callers, from the last step of the move on. */
export const INSTALLATION_MOVED =
  'This installation is being moved to another database, or was moved there, and this side is ' +
  'read-only.'

/** Creates the failure for writes to a read-only installation during and after a move (§2.8). */
export const installationMoved = (detail: unknown): Failure =>
  new Failure('storage_unavailable', `${INSTALLATION_MOVED} Retry later.`, {
    detail,
    headers: { 'retry-after': String(MOVED_RETRY_AFTER_S) },
  })

/** Whether a write failed in the source of a move, as a failure or as the database reported it. */
export const isInstallationMoved = (error: unknown): boolean => {
  const cause = error instanceof Failure ? error.detail : error
  return cause instanceof Error && cause.message === MOVED_MESSAGE
}
