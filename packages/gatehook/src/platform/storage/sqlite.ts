/**
 * The database on SQLite: a writer connection behind a queue with group commit, a connection for
 * reads, and one for snapshots. docs/decisions/0002-sqlite-durability.md explains its durability.
 */
import { fdatasync } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { type Clock, wallClock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import {
  type Database,
  type Reader,
  type Row,
  type Statement,
  StorageWaitError,
  type Tx,
  type Value,
} from './database.ts'
import { NO_SERVERS } from './database-servers.ts'
import { createDelayedSync } from './delayed-sync.ts'
import { createDiskFaults, type DiskFaults } from './disk-faults.ts'
import { createLoopPauses, type LoopPauses } from './loop-pauses.ts'
import { writeSetting } from './settings.ts'
import { mayChange, sql } from './sql.ts'
import { type Checkpoints, createCheckpoints } from './sqlite-checkpoints.ts'
import { type Connection, retryWhileBusy } from './sqlite-connection.ts'
import {
  isBusy,
  isDiskFull,
  isNotADatabase,
  translateSqliteError,
  type UniqueIndex,
  uniquesCreatedBy,
} from './sqlite-errors.ts'
import { closeFile, createFile, openFile, type SqliteFile } from './sqlite-file.ts'
import { createLongReads } from './sqlite-long-reads.ts'
import {
  acquireOwnerLock,
  type Ownership,
  raiseGeneration,
  readGeneration,
} from './sqlite-owner.ts'
import { createSqlitePlace, type SqlitePlace } from './sqlite-place.ts'
import { columnsOf, dialect, indexesOf, sizeOf, uniqueIndexes } from './sqlite-schema.ts'
import { createSharedRead, type SharedRead } from './sqlite-shared-read.ts'
import { createSnapshots } from './sqlite-snapshots.ts'
import { WriteQueue, type WriterConnection } from './sqlite-writer.ts'
import {
  createTransactionGuard,
  runInSavepoint,
  storageUnavailable,
  type Transaction,
  type TransactionGuard,
} from './transaction.ts'

export interface SqliteDeps {
  readonly log: Log
  /** Measures elapsed time. */
  readonly clock?: Clock
  /** Page cache of one connection in KiB. */
  readonly cacheKib?: number
  /** Whether foreign keys are checked. Default true. */
  readonly checksReferences?: boolean
  /** Delay of the sync after a write is acknowledged, in ms. Default: sync before. */
  readonly syncAfterMs?: number
  /** Holds the file, as a service does. Default: opens it beside the process that holds it. */
  readonly ownership?: Ownership | undefined
  /** The generation of the process that holds the file, for another connection of it. */
  readonly generation?: number | undefined
  /** Called when another process has taken the file over: transactions fail from then on. */
  readonly onTakenOver?: (() => void) | undefined
  /** Syncs the write-ahead log to disk. Default: `fdatasync` in libuv's thread pool. */
  readonly sync?: (log: number) => Promise<void>
}

class SqliteTx implements Tx {
  readonly counterSlots = 1
  readonly #connection: Connection
  readonly #transaction: Transaction
  readonly #uniques: (table: string) => UniqueIndex[]
  readonly #pauses: LoopPauses

  constructor(connection: Connection, transaction: Transaction, pauses: LoopPauses) {
    this.#connection = connection
    this.#transaction = transaction
    this.#pauses = pauses
    this.#uniques = (table) => uniqueIndexes(connection, table)
  }

  get writes(): number {
    return this.#transaction.writes
  }

  async all<R extends Row>(statement: Statement): Promise<R[]> {
    return this.#performSoon(() => this.#connection.all(statement) as R[], statement)
  }

  async get<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.#performSoon(() => this.#connection.get(statement) as R | undefined, statement)
  }

  async arrays(statement: Statement): Promise<Value[][]> {
    return this.#performSoon(() => this.#connection.arrays(statement), statement)
  }

  /** Needs no lock: this connection is the only writer. */
  async lock<R extends Row>(statement: Statement): Promise<R | undefined> {
    return this.get<R>(statement)
  }

  async hold<R extends Row>(statement: Statement): Promise<R[]> {
    return this.all<R>(statement)
  }

  async run(statement: Statement): Promise<number> {
    return this.#performSoon(() => this.#connection.run(statement))
  }

  runLater(statement: Statement): void {
    this.#perform(() => this.#connection.run(statement))
  }

  async insert(statement: Statement): Promise<number> {
    return this.#performSoon(() => this.#connection.insert(statement))
  }

  afterCommit(action: () => void): void {
    this.#transaction.requireUsable()
    this.#transaction.afterCommit.push(action)
  }

  attempt<T>(change: () => Promise<T>): Promise<T> {
    const exec = (text: string) => () => this.#connection.exec(text)
    const savepoint = {
      set: exec('SAVEPOINT attempt'),
      release: exec('RELEASE attempt'),
      rollBack: exec('ROLLBACK TO attempt; RELEASE attempt'),
    }
    return runInSavepoint(this.#transaction, savepoint, change)
  }

  async ddl(sql: string): Promise<void> {
    this.#transaction.writes++ // statements before a failed one have taken effect
    const uniques = (table: string) => [...this.#uniques(table), ...uniquesCreatedBy(sql, table)]
    this.#perform(() => this.#connection.exec(sql), undefined, uniques)
  }

  /** Performs a statement, after a pause if one is due. */
  #performSoon<T>(body: () => T, query?: Statement): T | Promise<T> {
    const pause = this.#pauses.pauseIfDue()
    return pause ? pause.then(() => this.#perform(body, query)) : this.#perform(body, query)
  }

  /** `query`: a statement that returns rows; with `RETURNING` it also writes. */
  #perform<T>(body: () => T, query?: Statement, uniques = this.#uniques): T {
    this.#transaction.requireUsable()
    try {
      const result = body()
      if (!query || mayChange(query)) this.#transaction.writes++
      return result
    } catch (error) {
      // SQLite has undone the changes of the failed statement.
      throw this.#transaction.fail(translateSqliteError(error, uniques))
    }
  }
}

interface ReaderDeps {
  readonly clock: Clock
  readonly faults: DiskFaults
}

/**
 * Creates a reader for one connection. `check` runs before each statement. A read waits only while
 * another process recovers or closes the file; it then runs outside the shared transaction.
 */
function createReader(
  connection: Connection,
  { clock, faults }: ReaderDeps,
  check: () => void,
  sharedRead?: SharedRead,
): Reader {
  const read = async <T>(body: () => T): Promise<T> => {
    check()
    try {
      sharedRead?.begin()
      return body()
    } catch (error) {
      if (!isBusy(error)) return faults.note(translateSqliteError(error, () => []))
      sharedRead?.end()
      return retryWhileBusy(clock, body)
    }
  }
  return {
    all: <R extends Row>(statement: Statement) => read(() => connection.all(statement) as R[]),
    get: <R extends Row>(statement: Statement) =>
      read(() => connection.get(statement) as R | undefined),
    arrays: (statement) => read(() => connection.arrays(statement)),
  }
}

const openSnapshots = (connection: Connection, guard: TransactionGuard, deps: ReaderDeps) =>
  createSnapshots(connection, {
    clock: deps.clock,
    guard,
    createReader: (check) => createReader(connection, deps, check),
  })

interface WriterDeps {
  readonly guard: TransactionGuard
  readonly clock: Clock
  readonly sharedRead: SharedRead
  readonly checkpoints: Checkpoints
  readonly place: SqlitePlace
  readonly sync: () => Promise<void>
  readonly isOwner: () => boolean
}

function createWriterConnection(
  connection: Connection,
  { guard, clock, sharedRead, checkpoints, place, sync, isOwner }: WriterDeps,
): WriterConnection {
  const begin = connection.command('BEGIN IMMEDIATE')
  const rollback = connection.command('ROLLBACK')
  const commit = connection.command('COMMIT')
  const release = connection.command('RELEASE job')
  const rollbackTo = connection.command('ROLLBACK TO job')
  const pauses = createLoopPauses(clock)
  return {
    async begin() {
      pauses.begin()
      place.require()
      await retryWhileBusy(clock, begin)
      if (isOwner()) return
      rollback()
      throw storageUnavailable('another process has taken the database over')
    },
    async commit() {
      sharedRead.end() // reads then see the commit, and the log can restart from its beginning
      await retryWhileBusy(clock, commit)
      place.require() // a long transaction may have outlived the path
      checkpoints.afterCommit()
    },
    rollback,
    savepoint: connection.command('SAVEPOINT job'),
    release,
    rollbackToSavepoint() {
      rollbackTo()
      release()
    },
    get inTransaction() {
      return connection.inTransaction
    },
    perform: (transaction, change) =>
      guard.run(transaction, () => change(new SqliteTx(connection, transaction, pauses))),
    sync,
  }
}

/** Opens the file. A process that holds it acquires the lock first, and begins a generation. */
async function openOwned(path: string, clock: Clock, deps: SqliteDeps) {
  const { ownership, cacheKib, checksReferences } = deps
  const open = () => openFile(path, clock, cacheKib, checksReferences)
  const placeOf = ({ writer }: SqliteFile) =>
    createSqlitePlace({
      ...{ file: resolve(path), log: deps.log },
      saveLog: () => writer.exec('PRAGMA wal_checkpoint(PASSIVE)'),
    })
  if (!ownership) {
    const file = await open()
    return { file, place: placeOf(file), generation: deps.generation, lock: undefined }
  }
  createFile(resolve(path))
  const lock = acquireOwnerLock(resolve(path), ownership)
  try {
    const file = await open()
    const raise = () => raiseGeneration(file.writer)
    const generation = await retryWhileBusy(clock, raise).catch(async (error) => {
      await closeFile(file)
      throw new StorageWaitError(
        `The database ${resolve(path)} cannot be taken over: another process writes to it and ` +
          'does not end its transaction. End that process.',
        { cause: error },
      )
    })
    return { file, place: placeOf(file), generation, lock }
  } catch (error) {
    lock.release()
    throw error
  }
}

const indexMethods = (
  reader: Connection,
  migrate: Database['migrate'],
): Pick<Database, 'createIndexes' | 'dropIndexes'> => ({
  async createIndexes(indexes) {
    for (const { table, name, definition } of indexes) {
      if (indexesOf(reader, table).includes(name)) continue
      await migrate((_tx, ddl) => ddl(`CREATE INDEX ${name} ${definition}`))
    }
    return true
  },
  async dropIndexes(names) {
    await migrate(async (_tx, ddl) => {
      for (const name of names) await ddl(`DROP INDEX IF EXISTS ${name}`)
    })
  },
})

/** Throws `StorageError` when the file cannot be used at all. */
export async function openSqlite(path: string, deps: SqliteDeps): Promise<Database> {
  const clock = deps.clock ?? wallClock
  const { file, place, generation, lock } = await openOwned(path, clock, deps)
  const isOwner = () => {
    if (generation === undefined || readGeneration(writer) === generation) return true
    deps.onTakenOver?.()
    return false
  }
  const { writer, reader, snapshotReader, wal } = file
  const guard = createTransactionGuard()
  const syncLog = deps.sync ?? promisify(fdatasync)
  const delayedSync =
    deps.syncAfterMs === undefined
      ? undefined
      : createDelayedSync(() => syncLog(wal), deps.syncAfterMs)
  const sync = delayedSync?.schedule ?? (() => syncLog(wal))
  const sharedRead = createSharedRead(reader)
  const checkpoints = createCheckpoints(resolve(path), writer, clock)
  const shared = { guard, clock, sharedRead, checkpoints, place, sync, isOwner }
  const faults = createDiskFaults({ log: deps.log, isDamage: isNotADatabase, isDiskFull })
  const readerDeps = { clock, faults }
  const queue = new WriteQueue(createWriterConnection(writer, shared), deps.log, clock)
  const snapshots = openSnapshots(snapshotReader, guard, readerDeps)
  const longReads = createLongReads(resolve(path), guard, clock)
  let closing: Promise<void> | undefined
  const requireUsable = (method: string) => {
    guard.refuseInside(method)
    if (closing) throw storageUnavailable('the database is closed')
  }
  const write: Database['write'] = async (change, options) => {
    requireUsable('write')
    return queue.write(change, options).catch(faults.note)
  }
  const migrate: Database['migrate'] = async (change) => {
    await write((tx) => change(tx, (sql) => (tx as SqliteTx).ddl(sql)))
    for (const connection of [writer, reader, snapshotReader]) connection.clearStatements()
  }
  return {
    name: 'sqlite',
    dialect,
    ...createReader(reader, readerDeps, () => requireUsable('all, get or arrays'), sharedRead),
    write,
    async snapshot(read, options) {
      requireUsable('snapshot')
      return snapshots.take(options?.customer, read)
    },
    async longRead(customer, read) {
      requireUsable('longRead')
      return longReads.take(customer, read).catch(faults.note)
    },
    ...faults.methods(async (bytes) => {
      await write((tx) => writeSetting(tx, 'space', 'x'.repeat(bytes)))
      await write((tx) => tx.run(sql`DELETE FROM gh_settings WHERE name = 'space'`))
    }),
    stamp: sharedRead.stamp,
    generation,
    isOwner,
    queued: () => queue.length,
    connectionWaits: () => 0,
    async columns(table, tx) {
      return columnsOf(tx ? writer : reader, table)
    },
    async indexes(table, tx) {
      return indexesOf(tx ? writer : reader, table)
    },
    migrate,
    async validateConstraint() {},
    ...indexMethods(reader, migrate),
    size: async (table) => sizeOf(reader, table),
    indexBuilds: async () => [],
    async notify() {},
    onPromotion() {},
    recentWork: () => ({ add() {}, take: () => [] }),
    ...{ isNotified: false, ...NO_SERVERS },
    listen: async () => async () => {},
    close() {
      closing ??= Promise.all([queue.drain(), snapshots.finished(), longReads.close()]).then(
        async () => {
          await delayedSync?.finish()
          await checkpoints.close()
          sharedRead.end()
          await closeFile(file)
          lock?.release()
        },
      )
      return closing
    },
  }
}
