/**
 * The database on SQLite: a writer connection behind a queue with group commit, a reader beside it,
 * one more for snapshots. How it stays durable: docs/decisions/0002-sqlite-durability.md.
 */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Clock, wallClock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Log } from '../kernel/log.ts'
import {
  type Database,
  type Reader,
  type Row,
  type Statement,
  StorageError,
  type Tx,
  type Value,
} from './database.ts'
import { Connection } from './sqlite-connection.ts'
import { isBusy, isNotADatabase, translate, type UniqueIndex } from './sqlite-errors.ts'
import { columnsOf, dialect, indexesOf, uniqueIndexes } from './sqlite-schema.ts'
import { WriteQueue, type WriterConnection } from './sqlite-writer.ts'
import { type Guard, Span, transactionGuard } from './transaction.ts'

/** How long another process may hold the write lock before our callers get a 503. */
const BUSY_LIMIT_MS = 10_000
const BUSY_PAUSE_MAX_MS = 50
const READER_CACHE_KIB = 32_768
const WRITER_CACHE_KIB = 16_384
/** Reads go through the page cache of the machine without a copy, up to this much of the file. */
const MAPPED_BYTES = 268_435_456

export interface SqliteDeps {
  readonly log: Log
  /** Only its `elapsedMs` is read. */
  readonly clock?: Clock
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
    return this.#do(() => this.#connection.all(statement) as R[])
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.#do(() => this.#connection.get(statement) as R | undefined)
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return this.#do(() => this.#connection.arrays(statement))
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

  afterCommit(action: () => void): void {
    this.#span.use()
    this.#span.afterCommit.push(action)
  }

  async ddl(sql: string): Promise<void> {
    this.#do(() => this.#connection.exec(sql))
  }

  #do<T>(body: () => T): T {
    this.#span.use()
    try {
      return body()
    } catch (error) {
      throw this.#span.fail(translate(error, this.#uniques))
    }
  }
}

/** Tries again while another process holds the lock, without blocking this thread. */
async function patiently<T>(clock: Clock, body: () => T): Promise<T> {
  const start = clock.elapsedMs()
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, BUSY_PAUSE_MAX_MS)) {
    try {
      return body()
    } catch (error) {
      if (!isBusy(error) || clock.elapsedMs() - start > BUSY_LIMIT_MS) {
        throw translate(error, () => [])
      }
    }
    await delay(pauseMs)
  }
}

/**
 * The reader of one connection. `check` runs before each statement. Another process that recovers or
 * closes the file may lock readers out for a moment: that alone makes a read wait.
 */
function readerOf(connection: Connection, clock: Clock, check: () => void): Reader {
  const read = async <T>(body: () => T): Promise<T> => {
    check()
    try {
      return body()
    } catch (error) {
      if (isBusy(error)) return patiently(clock, body)
      throw translate(error, () => [])
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
  sync: () => Promise<void>,
): WriterConnection {
  const begin = connection.command('BEGIN IMMEDIATE')
  const commit = connection.command('COMMIT')
  const release = connection.command('RELEASE job')
  const rollbackTo = connection.command('ROLLBACK TO job')
  return {
    begin: () => patiently(clock, begin),
    commit: () => patiently(clock, commit),
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

/**
 * Opens the file, making it (mode 0600) and its folder where they are missing. Throws `StorageError`
 * when the place cannot be used or holds something else.
 */
export async function openSqlite(path: string, deps: SqliteDeps): Promise<Database> {
  const file = resolve(path)
  const clock = deps.clock ?? wallClock
  const connections: Connection[] = []
  try {
    await createFile(file)
    const writer = new Connection(file, false)
    connections.push(writer)
    await patiently(clock, () => configure(writer))
    for (const _ of ['reader', 'snapshots']) {
      const reader = new Connection(file, true)
      connections.push(reader)
      reader.exec(`PRAGMA cache_size = -${READER_CACHE_KIB}; PRAGMA mmap_size = ${MAPPED_BYTES}`)
      await patiently(clock, () => reader.exec('SELECT 1 FROM sqlite_schema'))
    }
    // Opened once the log exists. SQLite's locks are on the database and on -shm: this takes none.
    const wal = await open(`${file}-wal`, 'r+')
    return assemble(connections as [Connection, Connection, Connection], wal, clock, deps)
  } catch (error) {
    for (const connection of connections) connection.close()
    throw unusable(file, error)
  }
}

/** `wx` only: to open and close the file of a live database would drop its POSIX locks. */
async function createFile(file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  try {
    await (await open(file, 'wx', 0o600)).close()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  if (process.platform === 'win32') return // there folders cannot be synced
  const folder = await open(dirname(file), 'r')
  await folder.sync().finally(() => folder.close())
}

function configure(writer: Connection): void {
  writer.exec('PRAGMA journal_mode = WAL')
  writer.exec('PRAGMA synchronous = NORMAL') // the queue syncs the log itself
  writer.exec(`PRAGMA cache_size = -${WRITER_CACHE_KIB}`)
  writer.exec('SELECT 1 FROM sqlite_schema') // opens the log
}

function unusable(file: string, error: unknown): unknown {
  if (error instanceof StorageError) return error
  const cause = error instanceof Failure ? error.detail : error
  const why = isNotADatabase(cause)
    ? 'it is not a SQLite database, or it is damaged'
    : (cause as Error).message
  return new StorageError(`The database ${file} cannot be opened: ${why}.`, { cause })
}

function assemble(
  [writer, reader, still]: readonly [Connection, Connection, Connection],
  wal: FileHandle,
  clock: Clock,
  deps: SqliteDeps,
): Database {
  const guard = transactionGuard()
  const sync = deps.sync ?? ((log: FileHandle) => log.datasync())
  const queue = new WriteQueue(
    writerConnection(writer, guard, clock, () => sync(wal)),
    deps.log,
  )
  const snapshot = snapshots(still, guard, clock)
  const write: Database['write'] = async (change) => {
    guard.refuseInside('write')
    return queue.write(change)
  }
  return {
    name: 'sqlite',
    dialect,
    ...readerOf(reader, clock, () => guard.refuseInside('all, get or arrays')),
    write,
    async snapshot(read) {
      guard.refuseInside('snapshot')
      return snapshot.take(read)
    },
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
    async close() {
      await queue.close()
      await snapshot.finished()
      reader.close()
      still.close()
      try {
        writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } finally {
        writer.close()
        await wal.close()
      }
    },
  }
}
