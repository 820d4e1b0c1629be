/**
 * The seam to the databases. Rooms write one SQL text per statement (sql-template-tag gives `?` and
 * `$1` from it) and never ask which database answers. What really differs is a named method here.
 * Implementations: `sqlite.ts`, `postgres.ts`. One suite (`test/storage/`) defines the seam.
 */
import type { TurnKey } from '../kernel/turns.ts'

export type Value = string | number | null | Uint8Array

/** Made by the `sql` tag, or a plain object with both texts prepared once, on hot paths. */
export interface Statement {
  /** With `?`, for SQLite. */
  readonly sql: string
  /** With `$1`, for PostgreSQL. */
  readonly text: string
  readonly values: readonly unknown[]
  /** PostgreSQL plans it in each run for these values; no plan made for others is reused. */
  readonly planned?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: a row's shape is known by the statement's author only
export type Row = Record<string, any>

export interface Reader {
  all<R extends Row = Row>(statement: Statement): Promise<R[]>
  get<R extends Row = Row>(statement: Statement): Promise<R | undefined>
  /** Rows as arrays in the order of the selected columns: a third faster, for pages. */
  arrays(statement: Statement): Promise<Value[][]>
}

export interface Tx extends Reader {
  /** `get`, and the row stays as it is until this transaction ends (PostgreSQL: FOR UPDATE). */
  lock<R extends Row = Row>(statement: Statement): Promise<R | undefined>
  /** `get`, and the row is not deleted until this transaction ends (PostgreSQL: FOR KEY SHARE). */
  hold<R extends Row = Row>(statement: Statement): Promise<R | undefined>
  /** How many rows changed. */
  run(statement: Statement): Promise<number>
  /** Runs an INSERT of one row and gives the `id` the database made (SQLite: no RETURNING). */
  insert(statement: Statement): Promise<number>
  /**
   * Runs `change` in a savepoint: when it throws, only what it did is undone, and the transaction
   * can go on. A deadlock still undoes all of it.
   */
  attempt<T>(change: () => Promise<T>): Promise<T>
  /** Called once the transaction is durable; not at all when it is rolled back. */
  afterCommit(action: () => void): void
}

export interface Column {
  readonly name: string
  /** As declared by `Dialect.types`: `int`, `real`, `text` or `bytes`. */
  readonly type: ColumnType
  readonly nullable: boolean
}

export type ColumnType = 'int' | 'real' | 'text' | 'bytes'

export interface Dialect {
  /** `INTEGER` or `BIGINT`; text compares by bytes on both. */
  readonly types: Readonly<Record<ColumnType, string>>
  /**
   * An integer key the database makes and never gives again. An explicit number may be given, but
   * then to every row of the table: PostgreSQL does not count on from it.
   */
  readonly serial: string
  /**
   * The id of rows that belong to a scope, numbered as `serial` is, and the table's constraint that
   * finds a row by scope and id. Where the database lets it, no index leads to the ids of all
   * scopes: a planner might walk it for a page of one.
   */
  readonly scoped: { readonly id: string; readonly key: string }
  /**
   * An integer column that says which transaction wrote the row; see `horizon`. SQLite, where
   * transactions come one after the other, has 0 in it.
   */
  readonly txid: string
  /**
   * SQL of the oldest transaction still open. Positions are given before transactions commit, so
   * a reader of an append-only table that only remembers a position would skip a late commit. In
   * order: `WHERE (txid > ? OR (txid = ? AND position > ?)) AND txid < horizon ORDER BY txid,
   * position`. As a set, at once: `WHERE txid >= ? AND (position > ? OR txid > 0)` with the
   * horizon of the reading before, rows seen already among them.
   */
  readonly horizon: string
  /** Into how many rows a counter is split, so that writers do not queue on one (1 on SQLite). */
  readonly counterSlots: number
  /** Whether several nodes work on one database, each with a memory of its own. */
  readonly shared: boolean
}

export interface Database extends Reader {
  /** For `doctor` and the log; no code asks it. */
  readonly name: 'sqlite' | 'postgres'
  readonly dialect: Dialect
  /**
   * Several reads of one moment, that of the first. As in `write`, nothing but statements of
   * `reader` may be awaited inside: the database itself throws there. `ordered`: statements say by
   * their order which index they read, and PostgreSQL's planner takes no other. `customer`: its
   * snapshots leave connections to others, and are refused with 503 while many of its walks wait.
   */
  snapshot<T>(
    read: (reader: Reader) => Promise<T>,
    options?: { readonly ordered?: boolean; readonly customer?: TurnKey },
  ): Promise<T>
  /**
   * A snapshot for reads that may take long. It delays no other read: SQLite runs it on a thread of
   * its own. Each customer has one at a time and customers take turns. Statements are `ordered`;
   * one that runs over its time fails with `query_too_expensive`.
   */
  walk<T>(customer: TurnKey, read: (reader: Reader) => Promise<T>): Promise<T>
  /**
   * One transaction; resolves when it is durable. An exception rolls back only this transaction,
   * and so does a statement that failed, even if its error was caught inside: PostgreSQL cannot go
   * on. (`tx.attempt` is the way to try.)
   * Using the database itself inside `change` would wait for itself: it throws. Nothing but
   * statements may be awaited inside: on SQLite all writers share one connection. `change` may run
   * more than once (PostgreSQL: deadlocks, serialization; SQLite: another of its batch failed), so
   * it keeps nothing outside itself but what it returns; `afterCommit` is for the rest.
   *
   * Throws `ConstraintError`; `Failure` `storage_unavailable` when nothing can be stored now (or,
   * where the connection broke during the commit, when nobody knows whether it was);
   * `invalid_request` for text a database cannot hold.
   */
  write<T>(change: (tx: Tx) => Promise<T>): Promise<T>
  /** Transactions of this process that wait or run: what its callers queue for. */
  queued(): number
  /**
   * Tables and columns as they are committed, for additive migrations; may be asked inside
   * `migrate`, where it does not yet show what the migration did. Empty for an unknown table.
   */
  columns(table: string): Promise<Column[]>
  /** Names of indexes in alphabetical order, without those of keys and constraints. */
  indexes(table: string): Promise<string[]>
  /** Runs DDL in one transaction with what `change` does; one at a time over all processes. */
  migrate(change: (tx: Tx, ddl: (sql: string) => Promise<void>) => Promise<void>): Promise<void>
  /**
   * Says something to every process on this database that listens, this one among them. It may be
   * lost: who must not miss it looks now and then. Nobody is there to hear on SQLite, whose
   * processes are threads of one.
   */
  notify(channel: string, message: string): Promise<void>
  /** Gives what stops it. A broken connection is made again; what was said meanwhile is lost. */
  listen(channel: string, hear: (message: string) => void): Promise<() => Promise<void>>
  /**
   * A number that is another one whenever anything was committed since, by whatever process: what
   * was read under it may be read again. Undefined where only the server could tell.
   */
  stamp(): number | undefined
  close(): Promise<void>
}

/** A constraint refused the change; which one, in the declared names. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference'
  /** The name of the unique index, or undefined where the database does not say. */
  readonly index: string | undefined

  constructor(kind: 'unique' | 'reference', index: string | undefined, cause: unknown) {
    super(`${kind} constraint${index ? ` ${index}` : ''}`, { cause })
    this.kind = kind
    this.index = index
  }
}

/** The database cannot be used at all: one sentence for the operator, no stack needed. */
export class StorageError extends Error {
  override readonly name = 'StorageError'
}
