/**
 * The file of a SQLite database: made, opened three times, its log held open to be synced.
 * Statements are not here.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import { makeFolder } from '../kernel/files.ts'
import { StorageError } from './database.ts'
import { Connection, patiently } from './sqlite-connection.ts'
import { isNotADatabase } from './sqlite-errors.ts'

const CACHE_KIB = 32_768
/**
 * A row goes into a dozen indexes, each a page somewhere else, and the log takes whole pages: half
 * the usual page halves what a commit writes, and takes a third off an insert (decision 0002).
 */
const PAGE_BYTES = 2048
/** 16 MiB of log: pages that are written again and again reach the database once. */
const CHECKPOINT_PAGES = 8192
/** Reads go through the page cache of the machine without a copy, up to this much of the file. */
const MAPPED_BYTES = 268_435_456

export interface SqliteFile {
  readonly writer: Connection
  readonly reader: Connection
  /** A second reader, for snapshots. */
  readonly still: Connection
  /** The write-ahead log. */
  readonly wal: FileHandle
}

/**
 * Opens the file, making it (mode 0600) and its folder where they are missing. Throws
 * `StorageError` when the place cannot be used or holds something else.
 */
export async function openFile(
  path: string,
  clock: Clock,
  cacheKib = CACHE_KIB,
  checksReferences = true,
): Promise<SqliteFile> {
  const file = resolve(path)
  const opened: Connection[] = []
  const connect = (readOnly: boolean): Connection => {
    const connection = new Connection(file, readOnly, checksReferences)
    opened.push(connection)
    return connection
  }
  const connectReader = async (): Promise<Connection> => {
    const reader = connect(true)
    configureReader(reader, cacheKib)
    await patiently(clock, () => reader.exec('SELECT 1 FROM sqlite_schema'))
    return reader
  }
  try {
    await createFile(file)
    const writer = connect(false)
    await patiently(clock, () => configure(writer, cacheKib))
    const reader = await connectReader()
    const still = await connectReader()
    // Opened once the log exists. SQLite's locks are on the database and on -shm: this drops none.
    const wal = await open(`${file}-wal`, 'r+')
    return { writer, reader, still, wal }
  } catch (error) {
    for (const connection of opened) connection.close()
    throw unusable(file, error)
  }
}

/** The log is brought home into the database, and the connections end. */
export async function closeFile({ writer, reader, still, wal }: SqliteFile): Promise<void> {
  reader.close()
  still.close()
  try {
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  } finally {
    writer.close()
    await wal.close()
  }
}

/** `wx` only: to open and close the file of a live database would drop its POSIX locks. */
async function createFile(file: string): Promise<void> {
  makeFolder(dirname(file))
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

/** Bounds the page cache of a reader and maps the file. */
export function configureReader(reader: Connection, cacheKib: number): void {
  reader.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA mmap_size = ${MAPPED_BYTES}`)
  reader.exec('PRAGMA temp_store = MEMORY')
}

function configure(writer: Connection, cacheKib: number): void {
  writer.exec(`PRAGMA page_size = ${PAGE_BYTES}`) // of a new file; an old one keeps its own
  writer.exec('PRAGMA journal_mode = WAL')
  writer.exec('PRAGMA synchronous = NORMAL') // the queue syncs the log itself
  writer.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA temp_store = MEMORY`)
  writer.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
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
