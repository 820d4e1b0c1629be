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
} from './database.ts'
import { NO_SERVERS } from './database-servers.ts'
import { createDelayedSync } from './delayed-sync.ts'
import { createDiskFaults, type DiskFaults } from './disk-faults.ts'
import { describeFileLock, findFileLockHolder } from './file-lock-holder.ts'
import { writeSetting } from './settings.ts'
import { sql } from './sql.ts'
import { createCheckpoints } from './sqlite-checkpoints.ts'
import { type Connection, retryWhileBusy } from './sqlite-connection.ts'
import { checkAfterCrash, hasRemainingLog } from './sqlite-crash-check.ts'
import { isBusy, isDiskFull, isNotADatabase, translateSqliteError } from './sqlite-errors.ts'
import { createFaultNamer } from './sqlite-fault-names.ts'
import { closeFile, createFile, openFile, type SqliteFile } from './sqlite-file.ts'
import { createSqliteLockWait } from './sqlite-lock-wait.ts'
import { createLongReads } from './sqlite-long-reads.ts'
import {
  acquireOwnerLock,
  type Ownership,
  raiseGeneration,
  readGeneration,
} from './sqlite-owner.ts'
import { createSqlitePlace } from './sqlite-place.ts'
import { columnsOf, dialect, indexesOf, sizeOf } from './sqlite-schema.ts'
import { createSharedRead, type SharedRead } from './sqlite-shared-read.ts'
import { createSnapshots } from './sqlite-snapshots.ts'
import { createWriterConnection, type SqliteTx } from './sqlite-tx.ts'
import { WriteQueue } from './sqlite-writer.ts'
import { createTransactionGuard, storageUnavailable, type TransactionGuard } from './transaction.ts'

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
    return {
      file,
      place: placeOf(file),
      generation: deps.generation,
      lock: undefined,
      isCrashed: false,
    }
  }
  createFile(resolve(path))
  const isCrashed = hasRemainingLog(resolve(path))
  const lock = acquireOwnerLock(resolve(path), ownership)
  try {
    const file = await open()
    const raise = () => raiseGeneration(file.writer)
    const generation = await retryWhileBusy(clock, raise).catch(async (error) => {
      await closeFile(file)
      throw new StorageWaitError(
        `The database ${resolve(path)} cannot be taken over. ` +
          describeFileLock(findFileLockHolder(resolve(path)), 1),
        { cause: error },
      )
    })
    return { file, place: placeOf(file), generation, lock, isCrashed }
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

function createLogSync(
  wal: number,
  { sync: syncLog = promisify(fdatasync), syncAfterMs }: Pick<SqliteDeps, 'sync' | 'syncAfterMs'>,
) {
  const syncNow = () => syncLog(wal)
  const delayed = syncAfterMs === undefined ? undefined : createDelayedSync(syncNow, syncAfterMs)
  return { sync: delayed?.schedule ?? syncNow, finishSync: async () => delayed?.finish() }
}

/** A file has no server, no standby and no other node. */
const OF_SERVERS = {
  connectionWaits: () => 0,
  validateConstraint: async () => {},
  indexBuilds: async () => [],
  notify: async () => {},
  onPromotion() {},
  recentWork: () => ({ add() {}, take: () => [] }),
  isNotified: false,
  ...NO_SERVERS,
  listen: async () => async () => {},
} satisfies Partial<Database>

/** Throws `StorageError` when the file cannot be used at all. */
export async function openSqlite(path: string, deps: SqliteDeps): Promise<Database> {
  const clock = deps.clock ?? wallClock
  const { file, place, generation, lock, isCrashed } = await openOwned(path, clock, deps)
  const isOwner = () => {
    if (generation === undefined || readGeneration(writer) === generation) return true
    deps.onTakenOver?.()
    return false
  }
  const { writer, reader, snapshotReader, wal } = file
  const guard = createTransactionGuard()
  const { sync, finishSync } = createLogSync(wal, deps)
  const sharedRead = createSharedRead(reader)
  const checkpoints = createCheckpoints(resolve(path), writer, clock)
  const lockWait = createSqliteLockWait({
    ...{ file: resolve(path), clock, log: deps.log, count: () => queue.length },
  })
  const shared = { guard, clock, sharedRead, checkpoints, place, lockWait, sync, isOwner }
  const faults = createDiskFaults({ log: deps.log, isDamage: isNotADatabase, isDiskFull })
  const readerDeps = { clock, faults }
  const queue = new WriteQueue(createWriterConnection(writer, shared), deps.log, clock)
  const explain = createFaultNamer(resolve(path), lockWait)
  const snapshots = openSnapshots(snapshotReader, guard, readerDeps)
  const longReads = createLongReads(resolve(path), { guard, clock, log: checkpoints })
  let closing: Promise<void> | undefined
  if (isCrashed) {
    void checkAfterCrash({
      ...{ file: resolve(path), take: longReads.take, log: deps.log },
      isClosed: () => closing !== undefined,
      onDamage: faults.noteDamage,
    })
  }
  const requireUsable = (method: string) => {
    guard.refuseInside(method)
    if (closing) throw storageUnavailable('the database is closed')
  }
  const write: Database['write'] = async (change, options) => {
    requireUsable('write')
    return queue.write(change, options).catch(explain).catch(faults.note)
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
    heldFile: lockWait.current,
    queued: () => queue.length,
    ...OF_SERVERS,
    async columns(table, tx) {
      return columnsOf(tx ? writer : reader, table)
    },
    async indexes(table, tx) {
      return indexesOf(tx ? writer : reader, table)
    },
    migrate,
    ...indexMethods(reader, migrate),
    size: async (table) => sizeOf(reader, table),
    close() {
      closing ??= Promise.all([queue.drain(), snapshots.finished(), longReads.close()]).then(
        async () => {
          await finishSync()
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
