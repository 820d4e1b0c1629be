/** SQLite's result codes, made into the errors of the seam. Pure. */
import { ConstraintError } from './database.ts'
import { MOVED_MESSAGE, moved, unavailable } from './transaction.ts'

/** An error of node:sqlite; `errcode` is SQLite's extended result code. */
interface SqliteError extends Error {
  readonly errcode: number
}

const BUSY = 5
const CORRUPT = 11
const NOT_A_DATABASE = 26
/** BUSY LOCKED NOMEM READONLY IOERR CORRUPT FULL CANTOPEN PROTOCOL NOTADB: not the statement. */
const UNAVAILABLE = new Set([BUSY, 6, 7, 8, 10, CORRUPT, 13, 14, 15, NOT_A_DATABASE])
const CONSTRAINT_FOREIGN_KEY = 787
const CONSTRAINT_UNIQUE = new Set([1555, 2067, 2579])

const isSqliteError = (error: unknown): error is SqliteError =>
  error instanceof Error && typeof (error as { errcode?: unknown }).errcode === 'number'

const primary = (error: SqliteError) => error.errcode & 0xff

/** Another connection holds the lock; the same may well succeed in a moment. */
export const isBusy = (error: unknown): boolean => isSqliteError(error) && primary(error) === BUSY

export const isNotADatabase = (error: unknown): boolean =>
  isSqliteError(error) && (primary(error) === NOT_A_DATABASE || primary(error) === CORRUPT)

export interface UniqueIndex {
  readonly name: string
  readonly columns: readonly string[]
}

/** `error` as the seam names it; whatever is not SQLite's stays as it is. */
export function translate(error: unknown, uniques: (table: string) => UniqueIndex[]): unknown {
  if (!isSqliteError(error)) return error
  if (error.message === MOVED_MESSAGE) return moved(error)
  if (UNAVAILABLE.has(primary(error))) return unavailable(error)
  if (error.errcode === CONSTRAINT_FOREIGN_KEY) {
    return new ConstraintError('reference', undefined, error)
  }
  if (!CONSTRAINT_UNIQUE.has(error.errcode)) return error
  return new ConstraintError('unique', indexName(error.message, uniques), error)
}

/** Of `…failed: t.a, t.b`, or of `…failed: index 'name'` where the index is on expressions. */
function indexName(message: string, uniques: (table: string) => UniqueIndex[]): string | undefined {
  const what = message.slice(message.indexOf(': ') + 2)
  const named = /^index '(.+)'$/.exec(what)
  if (named) return named[1]
  const places = what.split(', ').map((place) => place.split('.'))
  const table = places[0]?.[0] ?? ''
  const columns = places.map((place) => place[1]).join()
  return uniques(table).find((index) => index.columns.join() === columns)?.name
}
