/**
 * The process that serves from a SQLite file (§18.4). It holds a lock beside the file, which the
 * operating system releases when the process ends. Its generation is in the header of the file:
 * a process that takes the file over raises it, and the transactions of the former one then fail.
 */
import { rmSync, statSync } from 'node:fs'
import { hostname } from 'node:os'
import { createPrivateFile } from '../../kernel/files.ts'
import { StorageWaitError } from './database.ts'
import { Connection } from './sqlite-connection.ts'
import { isBusy } from './sqlite-errors.ts'

/** How a process opens a SQLite file from which it serves. */
export interface Ownership {
  /** Whether it replaces a process that holds the file; otherwise the opening is refused. */
  readonly takesOver: boolean
}

const GENERATION = { sql: 'PRAGMA user_version', text: '', values: [] }

/** Returns the number of processes that have owned the file: 0 if no service has used it. */
export const readGeneration = (connection: Connection): number =>
  connection.arrays(GENERATION)[0]![0] as number

/** Begins the next generation. Throws SQLite's error while another process writes. */
export function raiseGeneration(connection: Connection): number {
  connection.exec('BEGIN IMMEDIATE')
  const generation = readGeneration(connection) + 1
  connection.exec(`PRAGMA user_version = ${generation}; COMMIT`)
  return generation
}

/** The lock of a file: a database, because Node has no other lock that ends with its process. */
export interface OwnerLock {
  release(): void
}

const describeProcess = () => `process ${process.pid} on ${hostname()}`

/**
 * Acquires the lock of a file. A take-over replaces the file of the lock, so that the lock of the
 * former process excludes no other one. Throws `StorageWaitError` while another process holds it.
 */
export function acquireOwnerLock(file: string, { takesOver }: Ownership): OwnerLock {
  const path = `${file}.lock`
  if (takesOver) rmSync(path, { force: true })
  for (;;) {
    createPrivateFile(path, '')
    const { ino } = statSync(path)
    const connection = new Connection(path, false)
    try {
      hold(connection)
      // Another process may have replaced the file meanwhile: then this lock has no effect.
      if (statSync(path, { throwIfNoEntry: false })?.ino === ino) {
        return { release: () => connection.close() }
      }
    } catch (error) {
      const owner = isBusy(error) ? readOwner(connection) : undefined
      connection.close()
      throw owner === undefined ? error : refusal(file, owner)
    }
    connection.close()
  }
}

/** Stores who holds the lock. Readers see it: the lock that remains excludes other writers only. */
function hold(connection: Connection): void {
  connection.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN IMMEDIATE')
  connection.exec('CREATE TABLE IF NOT EXISTS owner (name TEXT NOT NULL); DELETE FROM owner')
  connection.run({ sql: 'INSERT INTO owner VALUES (?)', text: '', values: [describeProcess()] })
  connection.exec('COMMIT; BEGIN IMMEDIATE')
}

function readOwner(connection: Connection): string {
  try {
    return String(connection.arrays({ sql: 'SELECT name FROM owner', text: '', values: [] })[0]![0])
  } catch {
    return 'another process' // it is about to store its name
  }
}

const refusal = (file: string, owner: string) =>
  new StorageWaitError(
    `The database ${file} is in use: ${owner} serves from it. Stop that process, or replace it: ` +
      'gatehook start --take-over',
  )
