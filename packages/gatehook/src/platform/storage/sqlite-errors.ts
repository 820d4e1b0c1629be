/** Translates SQLite's result codes to the errors that `Database` documents. Pure. */
import { ConstraintError, NameTakenError, SchemaError } from './database.ts'
import { splitStatements } from './sql-statements.ts'
import {
  installationMoved,
  MOVED_MESSAGE,
  storageDamaged,
  storageUnavailable,
} from './transaction.ts'

/** An error of node:sqlite; `errcode` is SQLite's extended result code. */
interface SqliteError extends Error {
  readonly errcode: number
}

const BUSY = 5
const READ_ONLY = 8
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const IO_ERROR_SHARED_MEMORY_SIZE = 4874
const CANNOT_OPEN = 14
const NOT_A_DATABASE = 26
/** BUSY LOCKED NOMEM READONLY IOERR FULL CANTOPEN PROTOCOL. */
const UNAVAILABLE = new Set([BUSY, 6, 7, READ_ONLY, IO_ERROR, FULL, CANNOT_OPEN, 15])
const ERROR = 1
/** SQLite has no codes for these errors. */
const SCHEMA_TEXT = /^no such (table|column): |^table \S+ has no column named /
const INDEX_TEXT = /^ON CONFLICT clause does not match any /
const TAKEN_TEXT =
  /^(?:(table|index) "?(\w+)"? already exists|there is already (?:a|an) (table|index) named (\w+))$/
const CONSTRAINT_FOREIGN_KEY = 787
const CONSTRAINT_UNIQUE = new Set([1555, 2067, 2579])

const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && typeof (error as { errcode?: unknown }).errcode === 'number'

/** Returns the result code of SQLite; undefined for any other error. */
export const resultCodeOf = (error: unknown): number | undefined =>
  isSqliteError(error) ? error.errcode : undefined

const primaryCode = (error: SqliteError) => error.errcode & 0xff

/** Whether another connection holds the lock, so that a retry can succeed. */
export const isBusy = (error: unknown): boolean =>
  isSqliteError(error) && primaryCode(error) === BUSY

export const isNotADatabase = (error: unknown): boolean =>
  isSqliteError(error) && (primaryCode(error) === NOT_A_DATABASE || primaryCode(error) === CORRUPT)

/** Whether a file could not grow. */
export const isDiskFull = (error: unknown): boolean =>
  isSqliteError(error) &&
  (primaryCode(error) === FULL || error.errcode === IO_ERROR_SHARED_MEMORY_SIZE)

const hasCode =
  (code: number) =>
  (error: unknown): boolean =>
    isSqliteError(error) && primaryCode(error) === code

/** The cause of an error of SQLite, which its code does not name. The message is for operators. */
export class FileFaultError extends Error {
  override readonly name: string = 'FileFaultError'
}

export const isReadOnly = hasCode(READ_ONLY)
export const isDiskFault = hasCode(IO_ERROR)
export const isNotOpened = hasCode(CANNOT_OPEN)

export interface UniqueIndex {
  readonly name: string
  readonly columns: readonly string[]
}

/** Translates an error of SQLite; returns any other error unchanged. */
export function translateSqliteError(
  error: unknown,
  uniques: (table: string) => UniqueIndex[],
): unknown {
  if (!isSqliteError(error)) return error
  if (error.message === MOVED_MESSAGE) return installationMoved(error)
  if (isNotADatabase(error)) return storageDamaged(error)
  if (UNAVAILABLE.has(primaryCode(error))) return storageUnavailable(error)
  if (error.errcode === CONSTRAINT_FOREIGN_KEY) {
    return new ConstraintError('reference', undefined, error)
  }
  if (error.errcode === ERROR && SCHEMA_TEXT.test(error.message)) return new SchemaError(error)
  if (error.errcode === ERROR && INDEX_TEXT.test(error.message)) {
    return new SchemaError(error, 'a unique index')
  }
  const taken = error.errcode === ERROR && TAKEN_TEXT.exec(error.message)
  if (taken) {
    const [, kind = taken[3], name = taken[4]!] = taken
    return new NameTakenError(name, `another ${kind}`, error)
  }
  if (!CONSTRAINT_UNIQUE.has(error.errcode)) return error
  return new ConstraintError('unique', indexName(error.message, uniques), error)
}

const CREATE_UNIQUE =
  /^CREATE UNIQUE INDEX (?:IF NOT EXISTS )?"?(\w+)"? ON "?(\w+)"? ?\(([^()]*)\)/i

/**
 * Returns the unique indexes of a table that statements create: after an error the database does
 * not have the index whose values it names.
 */
export const uniquesCreatedBy = (text: string, table: string): UniqueIndex[] =>
  splitStatements(text).flatMap((statement) => {
    const [, name, on, columns] = CREATE_UNIQUE.exec(statement) ?? []
    if (name === undefined || on !== table) return []
    return [{ name, columns: columns!.split(',').map((column) => /\w+/.exec(column)?.[0] ?? '') }]
  })

/** Parses `…failed: t.a, t.b`, or `…failed: index 'name'` of an index on expressions. */
function indexName(message: string, uniques: (table: string) => UniqueIndex[]): string | undefined {
  const subject = message.slice(message.indexOf(': ') + 2)
  const namedIndex = /^index '(.+)'$/.exec(subject)
  if (namedIndex) return namedIndex[1]
  const paths = subject.split(', ').map((path) => path.split('.'))
  const table = paths[0]?.[0] ?? ''
  const columns = paths.map((path) => path[1]).join()
  return uniques(table).find((index) => index.columns.join() === columns)?.name
}
