/**
 * Finds the names in an expression that are no columns, with the parser of SQLite and without a
 * database. PostgreSQL has no column that SQLite lacks: text in its words only is no finding here.
 */
import { Connection } from './sqlite-connection.ts'

/** Returns each name that is no column, in the order of SQLite. */
export function findUnknownNames(expression: string, columns: readonly string[]): string[] {
  const memory = new Connection(':memory:', false)
  const unknown: string[] = []
  try {
    for (;;) {
      const name = findUnknownName(memory, expression, [...columns, ...unknown])
      if (name === undefined || unknown.includes(name)) return unknown
      unknown.push(name)
    }
  } finally {
    memory.close()
  }
}

function findUnknownName(memory: Connection, expression: string, columns: readonly string[]) {
  const row = columns.map((name) => `NULL AS "${name}"`).join(', ')
  try {
    memory.command(`SELECT (${expression}) FROM (SELECT ${row})`)
    return undefined
  } catch (error) {
    return /^no such column: (\w+)$/.exec((error as Error).message)?.[1]
  }
}
