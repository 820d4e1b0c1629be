/**
 * Defines the interface of the databases. Modules write one SQL text per statement, from which
 * sql-template-tag derives `?` and `$1`, and do not depend on the database in use. Each real
 * difference is a named method here. `sqlite.ts` and `postgres.ts` implement the interface;
 * one test suite (`test/storage/`) defines its behaviour.
 */

import type { CallerAuthority } from '../../kernel/caller-authority.ts'
import type { RecentItems, RecentItemsOptions } from '../../kernel/recent-items.ts'
import type { TurnKey } from '../../kernel/turns.ts'
import type { CommitOrder } from './commit-order.ts'
import type { DatabaseServers } from './database-servers.ts'
import type { FileLock } from './file-lock-holder.ts'

export type Value = string | number | null | Uint8Array

/** The `sql` tag creates one. Hot paths prepare both texts once (`prepareStatement`). */
export interface Statement {
  /** The text with `?`, for SQLite. */
  readonly sql: string
  /** The text with `$1`, for PostgreSQL. */
  readonly text: string
  readonly values: readonly unknown[]
  /** PostgreSQL plans each run for its values and reuses no cached plan. */
  readonly planned?: boolean
}

// biome-ignore lint/suspicious/noExplicitAny: the type of a row depends on the statement
export type Row = Record<string, any>

export interface Reader {
  all<R extends Row = Row>(statement: Statement): Promise<R[]>
  get<R extends Row = Row>(statement: Statement): Promise<R | undefined>
  /** Returns rows as arrays in the order of the columns: a third faster than objects. */
  arrays(statement: Statement): Promise<Value[][]>
  /** Each wait for a statement is a round trip; see `runTogether`. */
  readonly hasRoundTrips?: boolean
}

export interface Tx extends Reader {
  /** The number of its statements that have changed rows, or may have. */
  readonly writes: number
  /** See `WriteOptions`. */
  readonly scope?: number | undefined
  /** Returns the row of a counter to add to; 0 on SQLite. `spread`: differs between writers. */
  counterSlot(spread: number): number
  /**
   * Like `get`, and locks the row against changes until this transaction ends: FOR UPDATE, which
   * excludes `hold`. `change`: the row will not be deleted, so others may hold it (FOR NO KEY
   * UPDATE), and two transactions that hold and then change it do not wait for each other.
   */
  lock<R extends Row = Row>(statement: Statement, purpose?: 'change'): Promise<R | undefined>
  /** Like `all`, and locks the rows against deletion until the transaction ends (FOR KEY SHARE). */
  hold<R extends Row = Row>(statement: Statement): Promise<R[]>
  run(statement: Statement): Promise<number>
  /**
   * Runs a statement before the next one, or with the commit, in their round trip. Its failure
   * fails the transaction, so it must not depend on values that a client can choose.
   */
  runLater(statement: Statement): void
  /** PostgreSQL: `add` stores the sum of a key once, with the commit; in own code, at once. */
  addLater?(key: string, difference: number, add: (sum: number) => Statement): void
  /** Inserts one row and returns its generated `id`. The statement has no RETURNING clause. */
  insert(statement: Statement): Promise<number>
  /**
   * Runs `change` in a savepoint. When it throws, its changes are undone and the transaction can
   * continue. A deadlock still rolls back the whole transaction.
   */
  attempt<T>(change: () => Promise<T>): Promise<T>
  /** Registers an action that runs once the transaction is durable, and never after a rollback. */
  afterCommit(action: () => void): void
}

export interface Column {
  readonly name: string
  /** A key of `Dialect.types`; `text` for another type. */
  readonly type: ColumnType
  /** The type as the database names it. */
  readonly declaredType: string
  readonly nullable: boolean
}

export type ColumnType = 'int' | 'real' | 'text' | 'bytes'

export interface TableSize {
  /** PostgreSQL: of the last statistics. SQLite: the highest id, which deleted rows have too. */
  readonly rows: number
  /** The bytes of the rows without indexes; undefined on SQLite, which has one file. */
  readonly bytes: number | undefined
}

/** An index that a declaration requires. */
export interface IndexDdl {
  readonly table: string
  readonly name: string
  /** The text after the name: `ON orders (scope, amount, id)`. */
  readonly definition: string
}

/** The progress of an index that is being created. */
export interface IndexBuild {
  readonly table: string
  readonly name: string
  /** The database's name of the step: `building index: scanning table`. */
  readonly phase: string
  /** The completed part of all steps, 0 to 1; an estimate. */
  readonly fraction: number
  /** The process of the transaction for whose end the build waits. */
  readonly waitsFor: number | undefined
}

export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** The SQL type of each column type. Text compares by bytes on both databases. */
  readonly types: Readonly<Record<ColumnType, string>>
  /**
   * An integer key that the database generates and never reuses. A table may set explicit numbers
   * instead, but then for every row: the sequence of PostgreSQL does not advance past them.
   */
  readonly serial: string
  /**
   * The id column of rows that belong to a scope, numbered like `serial`, and the constraint that
   * finds a row by scope and id. PostgreSQL has no index on the ids of all scopes: its planner
   * could scan that index for a page of one scope.
   */
  readonly scoped: { readonly id: string; readonly key: string }
  /**
   * An integer column with the id of the transaction that wrote the row; see `horizon`. It is
   * always 0 on SQLite, whose transactions run one at a time.
   */
  readonly txid: string
  /**
   * SQL for the id of the oldest open transaction. Rows get positions before they commit, so a
   * reader of an append-only table that stores only a position would skip a late commit.
   * To read in order: `WHERE (txid > ? OR (txid = ? AND position > ?)) AND txid < horizon ORDER BY
   * txid, position`. To read an unordered set: `WHERE txid >= ? AND (position > ? OR txid > 0)`
   * with the previous horizon; the result then repeats rows that were read before. On PostgreSQL a
   * transaction in any database of the server holds the horizon back; see `ownHorizon`.
   */
  readonly horizon: string
  /**
   * The same of one scope, the `?`, in this database alone: costs more; valid for statements after
   * its result. Transactions of other scopes do not count; where tables are distributed, they do,
   * and there is no `?`.
   */
  readonly ownHorizon: string
  /**
   * The order in which a list of an append-only table with `txid` and `position` finds late
   * commits; undefined where ids have the order of commits.
   */
  readonly commitOrder: CommitOrder | undefined
  /** Whether several nodes can share one database, each with its own in-memory state. */
  readonly shared: boolean
  /**
   * Splits work on tables in use: on SQLite the start does all of it, because requests would wait;
   * on PostgreSQL jobs do all beside requests, also those of other nodes.
   */
  readonly splitWork: <T>(work: readonly T[]) => Record<'atStart' | 'later', readonly T[]>
  /** The words of `createIndexes` for a plan: in its statements, and when it runs. */
  readonly indexing: {
    readonly keyword: string
    readonly runs: 'at start' | 'while the service runs'
  }
  /** Whether the tables are distributed over several servers (decision 0059). */
  readonly distributed: boolean
}

export interface WriteOptions {
  /**
   * The transaction sees and leaves the rows as if it ran alone among all serializable ones, on all
   * nodes. It costs repeated runs where transactions change rows that others have read. It runs own
   * code, and rejects when that code waits for something other than the database (`IDLE_MS`).
   */
  readonly serializable?: boolean
  /**
   * `change` starts all of its statements before it waits for one: on PostgreSQL they and the
   * commit are one round trip. A later statement is a bug, and so is an exception after one.
   */
  readonly single?: boolean
  /**
   * Resolves before the commit is on disk or at a standby; each later commit that is there includes
   * it. For slices of work whose later state says that they are done.
   */
  readonly unsynced?: boolean
  /**
   * Events of the transaction are of this scope alone, so that no feed of another scope waits for
   * its end; undefined: of any.
   */
  readonly scope?: number | undefined
  /** Old rights of the caller are verified at the turn of the write; a loss rejects it alone. */
  readonly authority?: CallerAuthority | undefined
  /**
   * The customer that requests the change; undefined: the engine itself. On SQLite long
   * transactions of customers take turns; on PostgreSQL a customer uses a part of the connections.
   */
  readonly customer?: TurnKey
  /** The caller of the customer: callers with long transactions take turns on SQLite. */
  readonly caller?: TurnKey
  /** Whether it likely takes long: beside others those of a customer take turns and rest. */
  readonly isLarge?: boolean
  /**
   * Writes with the same key may commit together. They add rows of one resource: one that locks a
   * row or sets a savepoint fails there, and runs again alone. SQLite commits all together.
   */
  readonly group?: string
}

/** A standby of the database became its primary, and may lack the last commits. */
export interface Promotion {
  /** The timelines of the old primary and of the new one. */
  readonly from: number
  readonly to: number
}

export interface Database extends Reader, DatabaseServers {
  /** The name that `doctor` and the log report. */
  readonly name: 'sqlite' | 'postgres'
  readonly dialect: Dialect
  /**
   * Runs several reads on one snapshot, taken at the first read. `read` may await statements of
   * `reader` only, as in `write`; methods of the database throw there. `ordered`: the ORDER BY of a
   * statement determines its index, and PostgreSQL's planner uses no other. `customer`: customers
   * take turns, and leave connections for others; PostgreSQL rejects `ordered` snapshots with 503
   * while many long reads of the customer wait. `single`: the reads are one round trip
   * (`runTogether`), with which the snapshot ends.
   */
  snapshot<T>(
    read: (reader: Reader) => Promise<T>,
    options?: {
      readonly ordered?: boolean
      readonly customer?: TurnKey
      readonly single?: boolean
    },
  ): Promise<T>
  /**
   * Runs long reads on a snapshot, without delay to other reads: SQLite uses a separate thread.
   * Each customer has one of them at a time, and customers take turns. Statements are `ordered`; a
   * statement that exceeds its timeout fails with `query_too_expensive`.
   */
  longRead<T>(customer: TurnKey, read: (reader: Reader) => Promise<T>): Promise<T>
  /**
   * Runs one transaction; resolves when it is durable. An exception rolls back this transaction
   * only. A failed statement rolls it back too, even if `change` catches its error, because
   * PostgreSQL cannot continue; use `tx.attempt` for statements that may fail.
   *
   * Methods of the database throw inside `change`: they would wait for this transaction. `change`
   * may await statements only: on SQLite all writers share one connection. It may run more than
   * once (PostgreSQL: deadlock, serialization failure; SQLite: failure of another transaction in
   * the batch), so its only effects are statements, its return value and `afterCommit`.
   *
   * Throws `ConstraintError`; `SchemaError`; `Failure` `storage_unavailable` when the database
   * cannot store, or when the connection broke during the commit and the outcome is uncertain;
   * `Failure` `durability_lost` when the server has no replica for the commit to wait for (§18.3);
   * `Failure` `invalid_request` for text that a database cannot hold.
   */
  write<T>(change: (tx: Tx) => Promise<T>, options?: WriteOptions): Promise<T>
  /** Whether a statement has met a damaged page since the database was opened, or promoted. */
  hasDamage(): boolean
  /** Whether the disk was full for a write, and `takeSpace` has not found space since. */
  lacksSpace(): boolean
  /** Stores bytes in new pages, and removes them. Throws `storage_unavailable` on a full disk. */
  takeSpace(bytes: number): Promise<void>
  /** Returns the number of transactions of this process that wait or run. */
  queued(): number
  /** Transactions of the engine, and customers, that wait for a connection; 0 on SQLite. */
  connectionWaits(): number
  /**
   * Returns the columns of a table, for additive migrations; empty for an unknown table. With the
   * transaction of `migrate`, the result has its changes, otherwise the committed ones only.
   */
  columns(table: string, tx?: Tx): Promise<Column[]>
  /**
   * Returns the names of usable indexes in alphabetical order, without those of keys and
   * constraints. An index that is being created is not usable yet. `tx`: see `columns`.
   */
  indexes(table: string, tx?: Tx): Promise<string[]>
  /**
   * Runs DDL and the statements of `change` in one transaction; one at a time on all nodes. On
   * PostgreSQL a statement waits for a table lock for at most 0.4 s, because reads and writes of
   * the table wait behind it. If the lock is not free, the transaction is rolled back and `change`
   * runs again after a pause; `onWait` receives a sentence with the reason. It throws
   * `StorageError` after `attemptsMax` runs, by default after half an hour.
   */
  migrate(
    change: (tx: Tx, ddl: (sql: string) => Promise<void>) => Promise<void>,
    onWait?: (line: string) => void,
    attemptsMax?: number,
  ): Promise<void>
  /** Validates a constraint by a scan that delays no statement; does nothing on SQLite. */
  validateConstraint(table: string, name: string): Promise<void>
  /**
   * Creates the indexes that the table does not have, each durable on its own. PostgreSQL delays no
   * read and no write meanwhile, and resumes after a crash; one node at a time does so. Returns
   * false if another node creates indexes now. `signal` ends the wait, not the current build.
   */
  createIndexes(indexes: readonly IndexDdl[], signal?: AbortSignal): Promise<boolean>
  /** Returns the estimated size of a table; 0 rows for an unknown one. */
  size(table: string): Promise<TableSize>
  /** Drops indexes that exist; PostgreSQL delays no read and no write meanwhile. */
  dropIndexes(names: readonly string[]): Promise<void>
  /** Returns the indexes that any node is creating; always empty on SQLite, where writes wait. */
  indexBuilds(): Promise<IndexBuild[]>
  /**
   * Sends a message to every listening process on this database, including this one. Delivery is
   * not guaranteed: a listener that needs every change also polls. Does nothing on SQLite.
   */
  notify(channel: string, message: string): Promise<void>
  /** Returns a function that stops listening. Messages are lost while a connection is broken. */
  listen(channel: string, onMessage: (message: string) => void): Promise<() => Promise<void>>
  /**
   * Returns a number that changes with every commit of any process: rows that were read under the
   * same number are still current. Undefined on PostgreSQL, which would need a request for it.
   */
  stamp(): number | undefined
  /** SQLite: the generation of this process, if it holds the file (`sqlite-owner.ts`). */
  readonly generation: number | undefined
  /** SQLite: the lock of another process for which writes wait, or did in the last seconds. */
  heldFile?(): FileLock | undefined
  /** Whether no other process has taken the file over; always true on PostgreSQL. */
  isOwner(): boolean
  /**
   * Calls the listener after each promotion that this process has noticed or notices; ids have
   * skipped ahead by then. Never on SQLite.
   */
  onPromotion(listener: (promotion: Promotion) => void): void
  /**
   * Returns a store of the newest work of this process, whose commits a promoted standby may lack.
   * On SQLite it stays empty.
   */
  recentWork<T>(options: RecentItemsOptions): RecentItems<T>
  /**
   * Whether `listen` receives messages of other processes: not on SQLite, nor behind a pooler
   * without a direct address.
   */
  readonly isNotified: boolean
  close(): Promise<void>
}

/** A unique or foreign-key constraint rejected the change. */
export class ConstraintError extends Error {
  readonly kind: 'unique' | 'reference'
  /** The declared name of the unique index; undefined where the database does not report it. */
  readonly index: string | undefined

  constructor(kind: 'unique' | 'reference', index: string | undefined, cause: unknown) {
    super(`${kind} constraint${index ? ` ${index}` : ''}`, { cause })
    this.kind = kind
    this.index = index
  }

  /**
   * Whether the unique index of this declared name was violated. Citus shortens a name that does
   * not fit in the name of a shard, and adds eight digits of a hash.
   */
  isOf(name: string): boolean {
    if (this.index === name) return true
    const start = SHORTENED.exec(this.index ?? '')?.[1]
    // The start, the digits and `_` before each fill the rest of a name in a shard.
    return start !== undefined && name.length > start.length + 9 && name.startsWith(start)
  }
}

const SHORTENED = /^(.{44,})_[0-9a-f]{8}$/

/** A statement needs a table, a column or a unique index that the database lacks. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  readonly part: string

  constructor(cause: Error, part = 'a table or a column') {
    super(cause.message, { cause })
    this.part = part
  }
}

/** The database cannot be used. The message is one sentence for the operator. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError'
}

/** The database cannot be used now; the same configuration may work later (§18.7). */
export class StorageWaitError extends StorageError {
  override readonly name: string = 'StorageWaitError'
}

/** A table or an index cannot be created, because another one has its name. */
export class NameTakenError extends StorageError {
  override readonly name = 'NameTakenError'

  /** @param taken - the name; @param holder - the other object: `the table former_orders` */
  constructor(taken: string, holder: string, cause: unknown) {
    super(
      `${taken} cannot be created: ${holder} has its name. Rename or drop that one, or move a ` +
        'table back that was renamed.',
      { cause },
    )
  }
}
