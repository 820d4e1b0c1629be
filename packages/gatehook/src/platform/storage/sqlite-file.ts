/**
 * The file of a SQLite database: created, opened by three connections, with a handle of its log for
 * syncs. Contains no transactions.
 */
import { closeSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import { createPrivateFile, makeFolder, syncFolder } from '../../kernel/files.ts'
import { StorageError, StorageWaitError } from './database.ts'
import { describeFileLock, findFileLockHolder } from './file-lock-holder.ts'
import { describeAccess } from './sqlite-access.ts'
import { Connection, retryWhileBusy } from './sqlite-connection.ts'
import { isBusy, isDiskFull, isNotADatabase } from './sqlite-errors.ts'

const CACHE_KIB = 32_768
/**
 * A row changes about twelve index pages, and the log stores whole pages. Half the default page
 * size halves the bytes of a commit and saves a third of the time of an insert (decision 0002).
 */
const PAGE_BYTES = 2048
/** 128 MiB of log, which it reaches only if its copies fail (`sqlite-checkpoints.ts`). */
const CHECKPOINT_PAGES = 65_536
/** The part of the file that reads access by memory map, without a copy. */
const MAPPED_BYTES = 268_435_456

export interface SqliteFile {
  readonly writer: Connection
  readonly reader: Connection
  readonly snapshotReader: Connection
  /** File descriptor of the write-ahead log. */
  readonly wal: number
}

/**
 * Opens the file; creates it with mode 0600, and its folder, when absent. Throws `StorageError`
 * when the path cannot be used or is not a SQLite database.
 */
export async function openFile(
  path: string,
  clock: Clock,
  cacheKib = CACHE_KIB,
  checksReferences = true,
): Promise<SqliteFile> {
  const file = resolve(path)
  const connections: Connection[] = []
  const connect = (readOnly: boolean): Connection => {
    const connection = new Connection(file, readOnly, checksReferences)
    connections.push(connection)
    return connection
  }
  const connectReader = async (): Promise<Connection> => {
    const reader = connect(true)
    configureReader(reader, cacheKib)
    await retryWhileBusy(clock, () => reader.exec('SELECT 1 FROM sqlite_schema'))
    return reader
  }
  try {
    createFile(file)
    const writer = connect(false)
    await retryWhileBusy(clock, () => configureWriter(writer, cacheKib))
    const reader = await connectReader()
    const snapshotReader = await connectReader()
    // SQLite's locks are on the database and on -shm: closing the log drops none of them.
    const wal = openSync(`${file}-wal`, 'r+')
    return { writer, reader, snapshotReader, wal }
  } catch (error) {
    for (const connection of connections) connection.close()
    throw toStorageError(file, error)
  }
}

/** Checkpoints the log into the database and closes all connections. */
export async function closeFile({
  writer,
  reader,
  snapshotReader,
  wal,
}: SqliteFile): Promise<void> {
  reader.close()
  snapshotReader.close()
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } catch (error) {
    if (!isDiskFull(error)) throw error // the log has the commits, and the next process reads it
  } finally {
    writer.close()
    closeSync(wal)
  }
}

/**
 * Creates the file and its folder when absent. Opens no existing file: closing a handle of an open
 * database would drop its POSIX locks. Throws `StorageError` when this user may not write to it.
 */
export function createFile(file: string): void {
  try {
    makeFolder(dirname(file))
    if (createPrivateFile(file, '')) syncFolder(dirname(file))
  } catch (error) {
    const sentence = describeAccess(file)
    throw sentence === undefined
      ? toStorageError(file, error)
      : new StorageError(sentence, { cause: error })
  }
  const sentence = describeAccess(file)
  if (sentence !== undefined) throw new StorageError(sentence)
}

/** Limits the page cache of a reader, in KiB, and maps the file into memory. */
export function configureReader(reader: Connection, cacheKib: number): void {
  reader.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA mmap_size = ${MAPPED_BYTES}`)
  reader.exec('PRAGMA temp_store = MEMORY')
}

function configureWriter(writer: Connection, cacheKib: number): void {
  writer.exec(`PRAGMA page_size = ${PAGE_BYTES}`) // applies to new files only
  writer.exec('PRAGMA journal_mode = WAL')
  writer.exec('PRAGMA synchronous = NORMAL') // the write queue syncs the log
  writer.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA temp_store = MEMORY`)
  writer.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
  writer.exec('SELECT 1 FROM sqlite_schema') // creates the log
}

function toStorageError(file: string, error: unknown): unknown {
  if (error instanceof StorageError) return error
  const cause = error instanceof Failure ? error.detail : error
  if (isBusy(cause)) {
    const sentence = describeFileLock(findFileLockHolder(file), 1)
    return new StorageWaitError(`The database ${file} is locked. ${sentence}`, { cause })
  }
  const reason = isNotADatabase(cause)
    ? 'it is not a SQLite database, or it is damaged'
    : (cause as Error).message
  return new StorageError(`The database ${file} cannot be opened: ${reason}.`, { cause })
}
