/**
 * The database on SQLite: a writer connection behind a queue with group commit, a reader beside it,
 * one more for snapshots. How it stays durable: docs/decisions/0002-sqlite-durability.md.
 */
import type { FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, wallClock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import type { Database, Reader, Row, Statement, Tx, Value } from './database.ts'
import { lateSync } from './late-sync.ts'
import { type Connection, patiently } from './sqlite-connection.ts'
import { isBusy, translate, type UniqueIndex } from './sqlite-errors.ts'
import { closeFile, openFile } from './sqlite-file.ts'
import { columnsOf, dialect, indexesOf, uniqueIndexes } from './sqlite-schema.ts'
import { type Turn, turnOf } from './sqlite-turn.ts'
import { createWalks } from './sqlite-walks.ts'
import { WriteQueue, type WriterConnection } from './sqlite-writer.ts'
import { attemptWithin, type Guard, Span, transactionGuard, unavailable } from './transaction.ts'

export interface SqliteDeps {
  readonly log: Log
  /** Only its `elapsedMs` is read. */
  readonly clock?: Clock
  /** Pages a connection keeps. */
  readonly cacheKib?: number
  /** Whether foreign keys are checked. Default true. */
  readonly checksReferences?: boolean
  /** Writes are answered so long before they are on disk; by default not before. */
  readonly syncAfterMs?: number
  /** Brings the write-ahead log to the disk; `fdatasync` in libuv's pool by default. */
  readonly sync?: (log: FileHandle) => Promise<void>
}

class SqliteTx implements Tx {
  readonly #connection: Connection
  readonly #span: Span
  readonly #uniques: (table: string) => UniqueIndex[]

  constructor(connection: Connection, span: Span) {
    this.#connection = connection
    this.#span = span
    this.#uniques = (table) => uniqueIndexes(connection, table)
  }

  async all<R extends Row>(statement: Statement): Promise<R[]> {
    return this.#do(() => this.#connection.all(statement) as R[], statement)
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.#do(() => this.#connection.get(statement) as R | undefined, statement)
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return this.#do(() => this.#connection.arrays(statement), statement)
  }

  /** There is one writer and it is us: what was read stays. */
  async lock<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.get<R>(statement)
  }

  async hold<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.get<R>(statement)
  }

  async run(statement: Statement): Promise<number> {
    return this.#do(() => this.#connection.run(statement))
  }

  async insert(statement: Statement): Promise<number> {
    return this.#do(() => this.#connection.insert(statement))
  }

  afterCommit(action: () => void): void {
    this.#span.use()
    this.#span.afterCommit.push(action)
  }

  attempt<T>(change: () => Promise<T>): Promise<T> {
    const exec = (text: string) => () => this.#connection.exec(text)
    const savepoint = {
      set: exec('SAVEPOINT attempt'),
      release: exec('RELEASE attempt'),
      rollBack: exec('ROLLBACK TO attempt; RELEASE attempt'),
    }
    return attemptWithin(this.#span, savepoint, change)
  }

  async ddl(sql: string): Promise<void> {
    this.#span.wrote = true // of several statements, those before the one that fails stand
    this.#do(() => this.#connection.exec(sql))
  }

  /** `asked`: a statement for its rows, which may write nevertheless (`RETURNING`). */
  #do<T>(body: () => T, asked?: Statement): T {
    this.#span.use()
    try {
      const result = body()
      if (!asked?.sql.startsWith('SELECT')) this.#span.wrote = true
      return result
    } catch (error) {
      // SQLite has undone what the statement did before it failed.
      throw this.#span.fail(translate(error, this.#uniques))
    }
  }
}

/**
 * The reader of one connection. `check` runs before each statement. Another process that recovers
 * or closes the file may lock readers out for a moment: that alone makes a read wait, outside the
 * transaction of its `turn`.
 */
function readerOf(connection: Connection, clock: Clock, check: () => void, turn?: Turn): Reader {
  const read = async <T>(body: () => T): Promise<T> => {
    check()
    try {
      turn?.begin()
      return body()
    } catch (error) {
      if (!isBusy(error)) throw translate(error, () => [])
      turn?.end()
      return patiently(clock, body)
    }
  }
  return {
    all: <R extends Row>(statement: Statement) => read(() => connection.all(statement) as R[]),
    get: <R extends Row>(statement: Statement) =>
      read(() => connection.get(statement) as R | undefined),
    arrays: (statement) => read(() => connection.arrays(statement)),
  }
}

/** Snapshots share one connection, so they come one after the other. */
function snapshots(connection: Connection, guard: Guard, clock: Clock) {
  let last: Promise<unknown> = Promise.resolve()
  const take = async <T>(read: (reader: Reader) => Promise<T>): Promise<T> => {
    const span = new Span()
    connection.exec('BEGIN')
    try {
      const reader = readerOf(connection, clock, () => span.use())
      return await guard.run(span, () => read(reader))
    } finally {
      span.open = false
      if (connection.inTransaction) connection.exec('COMMIT')
    }
  }
  return {
    take<T>(read: (reader: Reader) => Promise<T>): Promise<T> {
      const taken = last.then(() => take(read))
      last = taken.catch(() => undefined)
      return taken
    },
    finished: () => last,
  }
}

function writerConnection(
  connection: Connection,
  guard: Guard,
  clock: Clock,
  reads: Turn,
  sync: () => Promise<void>,
): WriterConnection {
  const begin = connection.command('BEGIN IMMEDIATE')
  const commit = connection.command('COMMIT')
  const release = connection.command('RELEASE job')
  const rollbackTo = connection.command('ROLLBACK TO job')
  return {
    begin: () => patiently(clock, begin),
    commit() {
      reads.end() // else they would not see it, and keep the log from beginning anew
      return patiently(clock, commit)
    },
    rollback: connection.command('ROLLBACK'),
    savepoint: connection.command('SAVEPOINT job'),
    release,
    rollbackToSavepoint() {
      rollbackTo()
      release()
    },
    get inTransaction() {
      return connection.inTransaction
    },
    perform: (span, change) => guard.run(span, () => change(new SqliteTx(connection, span))),
    sync,
  }
}

/** Throws `StorageError` when the file cannot be used at all. */
export async function openSqlite(path: string, deps: SqliteDeps): Promise<Database> {
  const clock = deps.clock ?? wallClock
  const file = await openFile(path, clock, deps.cacheKib, deps.checksReferences)
  const { writer, reader, still, wal } = file
  const guard = transactionGuard()
  const toDisk = deps.sync ?? ((log: FileHandle) => log.datasync())
  const late =
    deps.syncAfterMs === undefined ? undefined : lateSync(() => toDisk(wal), deps.syncAfterMs)
  const sync = late?.soon ?? (() => toDisk(wal))
  const turn = turnOf(reader)
  const connection = writerConnection(writer, guard, clock, turn, sync)
  const queue = new WriteQueue(connection, deps.log)
  const snapshot = snapshots(still, guard, clock)
  const walks = createWalks(resolve(path), guard)
  let closing: Promise<void> | undefined
  const refuse = (what: string) => {
    guard.refuseInside(what)
    if (closing) throw unavailable('the database is closed')
  }
  const write: Database['write'] = async (change) => {
    refuse('write')
    return queue.write(change)
  }
  return {
    name: 'sqlite',
    dialect,
    ...readerOf(reader, clock, () => refuse('all, get or arrays'), turn),
    write,
    async snapshot(read) {
      refuse('snapshot')
      return snapshot.take(read)
    },
    async walk(customer, read) {
      refuse('walk')
      return walks.take(customer, read)
    },
    stamp: turn.stamp,
    queued: () => queue.length,
    async columns(table) {
      return columnsOf(reader, table)
    },
    async indexes(table) {
      return indexesOf(reader, table)
    },
    async migrate(change) {
      await write((tx) => change(tx, (sql) => (tx as SqliteTx).ddl(sql)))
      for (const connection of [writer, reader, still]) connection.forget()
    },
    async notify() {},
    listen: async () => async () => {},
    close() {
      closing ??= Promise.all([queue.drained(), snapshot.finished(), walks.close()]).then(
        async () => {
          await late?.done()
          turn.end()
          return closeFile(file)
        },
      )
      return closing
    },
  }
}
