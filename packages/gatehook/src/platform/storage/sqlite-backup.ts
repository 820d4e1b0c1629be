/**
 * Backups of a SQLite database: one file with a line of JSON (the manifest) and a zstd frame of the
 * database. `tail -n +2 FILE | zstd -d > gatehook.db` reads one without Gatehook. A backup contains
 * no master secret.
 */
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import { makeFolder, syncFolder } from '../../kernel/files.ts'
import { MARK_BACKUP } from './copy-mark.ts'
import { StorageError } from './database.ts'
import { sql } from './sql.ts'
import { Connection } from './sqlite-connection.ts'
import { readGeneration } from './sqlite-owner.ts'

const FORMAT = 'gatehook-backup/1'
const MANIFEST_MAX_BYTES = 65_536
const NEWLINE = 0x0a

export interface BackupManifest {
  readonly format: typeof FORMAT
  /** ISO 8601. */
  readonly created_at: string
  /** The release that created the backup: `0.1.0`. */
  readonly release: string
  /** Size of the database, uncompressed. */
  readonly bytes: number
  /** SHA-256 of the database, uncompressed, in hex. */
  readonly sha256: string
  /** Rows by table. */
  readonly tables: Readonly<Record<string, number>>
  readonly newest_event: NewestEvent | null
}

/** The last event of a database, by which a person recognizes it. */
interface NewestEvent {
  readonly id: string
  readonly type: string
  /** ISO 8601. */
  readonly created_at: string
}

/** The current step of a long operation, and its finished part (0 to 1). */
interface BackupProgress {
  readonly step: 'copy' | 'compress' | 'decompress' | 'verify'
  readonly fraction: number
  /** Rows of all tables; 0 before the count. */
  readonly rows: number
}

type OnBackupProgress = (progress: BackupProgress) => void

export interface BackupOptions {
  /** The file of the database; it may be in use. */
  readonly database: string
  readonly file: string
  readonly createdAt: string
  readonly release: string
  /** Reads the event by which a person recognizes the backup. */
  readonly findNewestEvent: (from: Pick<Connection, 'get'>) => NewestEvent | null
  readonly onProgress?: OnBackupProgress
}

export const totalRows = ({ tables }: Pick<BackupManifest, 'tables'>): number =>
  Object.values(tables).reduce((sum, count) => sum + count, 0)

/**
 * Writes a consistent backup while other processes write to the database. The file appears, with
 * mode 0600, once it is complete and on disk. Throws `StorageError` when the file exists, or when
 * the copy is damaged.
 */
export async function backupSqlite(options: BackupOptions): Promise<BackupManifest> {
  const { database, createdAt, release, onProgress = () => {} } = options
  const file = resolve(options.file)
  if (existsSync(file)) throw new StorageError(`${file} exists; a backup overwrites nothing.`)
  makeFolder(dirname(file))
  const [copy, part] = [`${file}.copy`, `${file}.part`]
  await removeFiles(copy, part)
  try {
    const { tables, newest_event } = await copySnapshot(options, copy, onProgress)
    withConnection(copy, (connection) => connection.exec(MARK_BACKUP))
    const rows = totalRows({ tables })
    onProgress({ step: 'verify', fraction: 0, rows })
    verifyPages(copy, `The database ${resolve(database)}`)
    const { size: bytes } = await stat(copy)
    const sha256 = await hashOf(copy)
    const manifest = {
      format: FORMAT,
      created_at: createdAt,
      release,
      bytes,
      sha256,
      tables,
      newest_event,
    } as const
    const report = (fraction: number) => onProgress({ step: 'compress', fraction, rows })
    const out = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true })
    out.write(`${JSON.stringify(manifest)}\n`)
    await pipeline(createReadStream(copy), meter(bytes, report), createZstdCompress(), out)
    await rename(part, file)
    syncFolder(dirname(file))
    return manifest
  } finally {
    await removeFiles(copy, part)
  }
}

export interface RestoreOptions {
  readonly file: string
  /** The file of the database to create. */
  readonly database: string
  readonly onProgress?: OnBackupProgress
}

/**
 * Creates a database from a backup. The database appears once its checksum, its pages and its row
 * counts are verified. Throws `StorageError` when the target holds a database (§2.8), and for a
 * file that is no backup, is damaged or was cut off.
 */
export async function restoreSqlite(options: RestoreOptions): Promise<BackupManifest> {
  const { onProgress = () => {} } = options
  const [file, database] = [resolve(options.file), resolve(options.database)]
  await refuseExisting(database)
  const { manifest, offset } = await readManifest(file)
  const rows = totalRows(manifest)
  makeFolder(dirname(database))
  const part = `${database}.restoring`
  await removeFiles(part)
  try {
    const hash = createHash('sha256')
    const report = (fraction: number) => onProgress({ step: 'decompress', fraction, rows })
    const source = createReadStream(file, { start: offset })
    const target = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true })
    const bounded = meter(manifest.bytes, report, (chunk) => hash.update(chunk))
    await pipeline(source, createZstdDecompress(), bounded, target).catch((error: Error) => {
      throw damageError(file, error.message)
    })
    if (hash.digest('hex') !== manifest.sha256) throw damageError(file, 'its checksum is wrong')
    onProgress({ step: 'verify', fraction: 0, rows })
    verifyPages(part, `The database in ${file}`)
    const restoredRows = countRows(part)
    const differingTable = Object.keys(manifest.tables).find(
      (table) => restoredRows[table] !== manifest.tables[table],
    )
    if (differingTable !== undefined)
      throw damageError(file, `the rows of ${differingTable} are not complete`)
    await rename(part, database)
    syncFolder(dirname(database))
    return manifest
  } finally {
    await removeFiles(part)
  }
}

/** Copies one snapshot and returns what it holds. */
async function copySnapshot(
  { database, findNewestEvent }: Pick<BackupOptions, 'database' | 'findNewestEvent'>,
  copy: string,
  onProgress: OnBackupProgress,
): Promise<Pick<BackupManifest, 'tables' | 'newest_event'>> {
  // Created here with mode 0600: SQLite would create a file that others can read, or reuse theirs.
  await (await open(copy, 'wx', 0o600)).close()
  const source = new Connection(resolve(database), true)
  try {
    source.exec('BEGIN')
    const tables = countTables(source)
    const newest_event = findNewestEvent(source)
    const rows = totalRows({ tables })
    await source.copyTo(copy, (fraction) => onProgress({ step: 'copy', fraction, rows }))
    source.exec('COMMIT')
    return { tables, newest_event }
  } finally {
    source.close()
  }
}

/** Whether a service has ever served from the file: commands alone begin no generation. */
export function wasServed(file: string): boolean {
  const connection = new Connection(resolve(file), true)
  try {
    return readGeneration(connection) > 0
  } finally {
    connection.close()
  }
}

function countTables(connection: Connection): Readonly<Record<string, number>> {
  const names = connection.arrays(
    sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
      ORDER BY name`,
  )
  return Object.fromEntries(
    names.map(([name]) => {
      const text = `SELECT count(*) FROM "${String(name).replaceAll('"', '""')}"`
      const [[count]] = connection.arrays({ sql: text, text, values: [] }) as [[number]]
      return [String(name), count]
    }),
  )
}

function withConnection<T>(file: string, use: (connection: Connection) => T): T {
  const connection = new Connection(file, false)
  try {
    return use(connection)
  } finally {
    connection.close()
  }
}

const countRows = (file: string) => withConnection(file, countTables)

/** Throws `StorageError` when a page or an index of the file is damaged. */
function verifyPages(file: string, name: string): void {
  const rows = withConnection(file, (connection) => connection.arrays(sql`PRAGMA quick_check(1)`))
  const [[problem] = ['']] = rows
  if (problem !== 'ok') throw new StorageError(`${name} is damaged: ${String(problem)}.`)
}

async function refuseExisting(database: string): Promise<void> {
  for (const path of [database, `${database}-wal`]) {
    const size = await stat(path).then(
      (file) => file.size,
      () => 0,
    )
    if (size === 0) continue
    throw new StorageError(
      `${path} exists; a restore overwrites no installation. Name another file: ` +
        '--database-url sqlite:FILE',
    )
  }
}

/** Reads the first line. `offset` is the byte at which the compressed database starts. */
async function readManifest(file: string): Promise<{ manifest: BackupManifest; offset: number }> {
  const handle = await open(file, 'r').catch((error: NodeJS.ErrnoException) => {
    throw new StorageError(`${file} cannot be read: ${error.code}.`, { cause: error })
  })
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(MANIFEST_MAX_BYTES), 0)
    const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE)
    const manifest = parseManifest(buffer.toString('utf8', 0, Math.max(end, 0)))
    if (!manifest) throw new StorageError(`${file} is not a backup of Gatehook.`)
    return { manifest, offset: end + 1 }
  } finally {
    await handle.close()
  }
}

function parseManifest(line: string): BackupManifest | undefined {
  try {
    const manifest = JSON.parse(line) as BackupManifest
    const { format, bytes, sha256, tables } = manifest
    const isComplete =
      format === FORMAT &&
      Number.isSafeInteger(bytes) &&
      typeof sha256 === 'string' &&
      typeof tables === 'object' &&
      tables !== null
    return isComplete ? manifest : undefined
  } catch {
    return undefined
  }
}

const damageError = (file: string, reason: string) =>
  new StorageError(`The backup ${file} is damaged: ${reason}.`)

/** Reports the fraction of `bytes` that has passed, and fails on more than `bytes`. */
function meter(
  bytes: number,
  report: (fraction: number) => void,
  observe: (chunk: Buffer) => void = () => {},
): Transform {
  let passedBytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      passedBytes += chunk.length
      if (passedBytes > bytes) return done(new Error('it is longer than it states'))
      observe(chunk)
      report(bytes === 0 ? 1 : passedBytes / bytes)
      done(null, chunk)
    },
  })
}

async function hashOf(file: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

async function removeFiles(...files: string[]): Promise<void> {
  for (const file of files) {
    for (const suffix of ['', '-wal', '-shm', '-journal']) {
      await rm(`${file}${suffix}`, { force: true })
    }
  }
}
