/**
 * What both databases hold a transaction to: who may use it, until when, and what it may store.
 * No database is touched here.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { Failure } from '../kernel/failure.ts'

/** The life of one transaction: from its first statement to its end. */
export class Span {
  open = true
  /** Whether a statement has changed something, or may have. */
  wrote = false
  readonly afterCommit: (() => void)[] = []
  #failed: { readonly error: unknown } | undefined

  /** Throws when the transaction has ended, or when a statement of it has failed before. */
  use(): void {
    if (!this.open) throw new Error('bug: this transaction has ended; its handle was kept')
    if (this.#failed) throw this.#failed.error
  }

  /** Remembers the first statement that failed. */
  fail(error: unknown): unknown {
    this.#failed ??= { error }
    return error
  }

  /** True while no statement has failed. */
  get sound(): boolean {
    return this.#failed === undefined
  }

  /** After a rollback to a savepoint set while the transaction was sound. */
  recover(): void {
    this.#failed = undefined
  }

  /**
   * Ends it. PostgreSQL lets nothing be committed after a failed statement, SQLite would; so that
   * both mean the same, an error caught inside the transaction still rolls it back.
   */
  end(): void {
    this.open = false
    if (this.#failed) throw this.#failed.error
  }
}

/** The three statements of a savepoint. */
export interface Savepoint {
  readonly set: () => Promise<unknown> | unknown
  readonly release: () => Promise<unknown> | unknown
  readonly rollBack: () => Promise<unknown> | unknown
}

/** Runs `change`; when it throws, what it did is undone and the transaction goes on without it. */
export async function attemptWithin<T>(
  span: Span,
  savepoint: Savepoint,
  change: () => Promise<T>,
): Promise<T> {
  span.use()
  const actions = span.afterCommit.length
  await savepoint.set()
  try {
    const value = await change()
    if (span.sound) await savepoint.release()
    return value
  } catch (error) {
    try {
      await savepoint.rollBack()
    } catch {
      throw span.fail(error) // the whole transaction is gone (disk full, connection lost), and why
    }
    span.recover()
    span.afterCommit.length = actions
    throw error
  }
}

/** Knows whether the code that runs now runs inside a transaction of this database. */
export interface Guard {
  /** Throws a bug when called from inside a transaction or a snapshot. */
  refuseInside(what: string): void
  run<T>(span: Span, body: () => Promise<T>): Promise<T>
}

export function transactionGuard(): Guard {
  const inside = new AsyncLocalStorage<Span>()
  return {
    refuseInside(what) {
      if (!inside.getStore()?.open) return
      throw new Error(
        `bug: db.${what} was called inside a transaction and would wait for it; use its handle`,
      )
    },
    run: (span, body) => inside.run(span, body),
  }
}

/**
 * Refuses what the databases would store differently. Booleans, undefined, NaN and objects are bugs
 * (TypeError); text with NUL or half a surrogate pair may be a caller's (§10.4): `invalid_request`.
 */
export function checkValues(values: readonly unknown[]): void {
  for (const value of values) {
    if (typeof value === 'string') {
      if (!value.includes('\0') && value.isWellFormed()) continue
      throw new Failure('invalid_request', 'Text cannot hold NUL or half a character.')
    }
    if (typeof value === 'number' && Number.isFinite(value)) continue
    if (value === null || value instanceof Uint8Array) continue
    throw new TypeError(`bug: a ${typeof value} cannot be stored; text, number, null or bytes can`)
  }
}

/** The service cannot store or read at the moment; `detail` is for the log. */
export const unavailable = (detail: unknown): Failure =>
  new Failure('storage_unavailable', undefined, { detail })

/** The text with which triggers stop writes to a database that was moved (`move/changes.ts`). */
export const MOVED_MESSAGE = 'gatehook: moved'

const MOVED_RETRY_AFTER_S = 30

/** The service is read-only: its installation moves, or has moved, to another database (§2.8). */
export const moved = (detail: unknown): Failure =>
  new Failure(
    'storage_unavailable',
    'This installation is being moved to another database and is read-only here. Retry later.',
    { detail, headers: { 'retry-after': String(MOVED_RETRY_AFTER_S) } },
  )
