/**
 * SQL of the distinct keys of rows, in their order. A walk seeks from one key to the next in an
 * index: a million rows of one key cost as much as one. Citus runs no walk (decision 0059): each
 * server groups its rows.
 */
import type { Database, Statement, Value } from './database.ts'

interface KeyedRows {
  readonly table: string
  readonly where: string
  /** SQL of the key; an index of the rows begins with it. */
  readonly key: string
}

/**
 * Returns `WITH … e(no, n)`: the keys after one, and a last row with null if no more follow. Its
 * parameters are that key and the number of keys.
 */
export const walkKeys = ({ table, where, key }: KeyedRows): string =>
  `WITH RECURSIVE e(no, n) AS (
    SELECT MIN(${key}), 1 FROM ${table} WHERE ${where} AND ${key} > ?
    UNION ALL
    SELECT (SELECT MIN(${key}) FROM ${table} WHERE ${where} AND ${key} > e.no), n + 1
    FROM e WHERE e.no IS NOT NULL AND n < ?)`

/** Returns the rows of a statement that begins with a walk; on Citus none. */
export const readWalk = async (
  db: Pick<Database, 'dialect' | 'arrays'>,
  statement: Statement,
): Promise<Value[][]> => (db.dialect.distributed ? [] : db.arrays(statement))

/**
 * Returns a table `(no, least)`: the keys after one, and the least value of a column in the rows of
 * each. Its parameters are that key and the number of keys. The index has scope and column after
 * the key, and the rows of a key have one scope.
 */
export function leastOfKeys(
  { dialect }: Pick<Database, 'dialect'>,
  rows: KeyedRows,
  column: string,
): string {
  const { table, where, key } = rows
  if (dialect.distributed) {
    return `(SELECT ${key} AS no, MIN(${column}) AS least FROM ${table}
      WHERE ${where} AND ${key} > ? GROUP BY scope, ${key} ORDER BY ${key} LIMIT ?)`
  }
  return `(${walkKeys(rows)} SELECT e.no, (SELECT ${column} FROM ${table}
      WHERE ${where} AND ${key} = e.no ORDER BY scope, ${column} LIMIT 1) AS least
    FROM e WHERE e.no IS NOT NULL)`
}
