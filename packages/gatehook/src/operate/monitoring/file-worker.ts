/**
 * The thread that owns the monitoring file on SQLite: one connection, one command at a time. A
 * damaged file is renamed to `….damaged`, which replaces an earlier one, and a new file begins.
 */
import { closeSync, existsSync, openSync, renameSync, rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThreadPriority } from '../../kernel/thread-priority.ts'
import type { Statement } from '../../platform/storage/database.ts'
import { Connection } from '../../platform/storage/sqlite-connection.ts'
import { isBusy, isNotADatabase } from '../../platform/storage/sqlite-errors.ts'
import type {
  FileCommand,
  FileResult,
  FileStatement,
  FileTrouble,
  FileWorkerData,
} from './file-protocol.ts'

/** The version of the tables; a file with another version is renamed, too. */
const TABLES_VERSION = 2
const CACHE_KIB = 1024
const CHECKPOINT_PAGES = 2048

const { file, tables, isLow } = workerData as FileWorkerData
const port = parentPort!
const post = (result: FileResult) => port.postMessage(result)
let connection: Connection | undefined

class OtherTables extends Error {}

const statementOf = ({ sql, values }: FileStatement): Statement => ({ sql, text: '', values })

function open(): Connection {
  // SQLite would create a file that other users can read.
  if (!existsSync(file)) closeSync(openSync(file, 'a', 0o600))
  const opened = new Connection(file, false)
  try {
    // Only the log is lost in a crash of the machine, and never its structure: no sync per commit.
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -${CACHE_KIB}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = 8388608`)
    const row = opened.get(statementOf({ sql: 'PRAGMA user_version', values: [] }))
    const version = Number(row?.user_version)
    if (version === 0) {
      opened.exec(`BEGIN IMMEDIATE; ${tables};
        PRAGMA user_version = ${TABLES_VERSION}; COMMIT`)
    } else if (version !== TABLES_VERSION) throw new OtherTables(`tables of version ${version}`)
    return opened
  } catch (error) {
    opened.close()
    throw error
  }
}

function close(): void {
  try {
    connection?.close()
  } catch {
    // A damaged file may not close; the rename follows.
  }
  connection = undefined
}

function renameFile(error: Error): void {
  close()
  const renamedTo = `${file}.damaged`
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
  if (existsSync(file)) renameSync(file, renamedTo)
  post({ renamedTo, message: error.message })
}

function perform(command: FileCommand): unknown {
  if ('close' in command) return close()
  connection ??= open()
  if ('rows' in command) {
    const statement = statementOf(command.statement)
    return command.rows === 'arrays' ? connection.arrays(statement) : connection.all(statement)
  }
  const write = JSON.parse(command.write) as FileStatement[]
  connection.exec('BEGIN IMMEDIATE')
  try {
    const counts = write.map((statement) => connection!.run(statementOf(statement)))
    connection.exec('COMMIT')
    return counts
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK')
    throw error
  }
}

const isDamaged = (error: unknown) => isNotADatabase(error) || error instanceof OtherTables

function performOnSoundFile(command: FileCommand): unknown {
  try {
    return perform(command)
  } catch (error) {
    if (!isDamaged(error)) throw error
    renameFile(error as Error)
    return perform(command)
  }
}

const troubleOf = (error: unknown): FileTrouble =>
  isBusy(error) ? 'locked' : isDamaged(error) ? 'corrupt' : 'failed'

if (isLow) lowerThreadPriority()
port.on('message', (command: FileCommand) => {
  const { no } = command
  try {
    post({ no, value: performOnSoundFile(command) })
  } catch (error) {
    post({ no, trouble: troubleOf(error), message: (error as Error).message })
  }
})
