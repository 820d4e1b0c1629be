/**
 * Creates statements: the `sql` tag turns values into parameters, and `prepareStatement` serves
 * texts that run often. Only `raw` becomes part of the text; it never receives request data.
 */
import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Row, Statement } from './database.ts'

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

/** Returns the INSERT of a row. Its members are columns; no request chooses their names. */
export const insertInto = (table: string, row: Row): Sql =>
  sql`INSERT INTO ${raw(table)} (${raw(Object.keys(row).join(', '))})
    VALUES (${join(Object.values(row))})`

/** Returns the assignments of an UPDATE: `name = 'a', mode = 'live'`. See `insertInto`. */
export const assignments = (cells: Row): Sql =>
  join(Object.entries(cells).map(([name, cell]) => sql`${raw(name)} = ${cell}`))

const CHANGES = /\b(?:INSERT|UPDATE|DELETE|MERGE)\b/i

/** Whether a statement is no query, or a query with changes in its WITH. */
export const mayChange = ({ text }: Pick<Statement, 'text'>): boolean =>
  !/^\s*SELECT\b/i.test(text) && (!/^\s*WITH\b/i.test(text) || CHANGES.test(text))

export type PreparedStatement = (values: readonly unknown[]) => Statement

/**
 * Prepares a text with `?` for each value, and with no other `?`, for both databases. `sqlite`: the
 * text for SQLite, if it differs.
 */
export function prepareStatement(text: string, sqlite = text): PreparedStatement {
  let number = 0
  const numbered = text.replace(/\?/g, () => `$${++number}`)
  return (values) => ({ sql: sqlite, text: numbered, values })
}

/** Caches statements by a key; `text` returns the text of a new one. The keys must be bounded. */
export function createStatementCache() {
  const statements = new Map<string, PreparedStatement>()
  return (key: string, text: () => string): PreparedStatement => {
    let statement = statements.get(key)
    if (!statement) statements.set(key, (statement = prepareStatement(text())))
    return statement
  }
}

/**
 * Prepares an upsert into a table whose primary key is `webhook_no`. PostgreSQL finds the row by
 * the unique index that begins with the scope; SQLite's ON CONFLICT accepts no index with its key.
 */
export const prepareUpsert = (text: string): PreparedStatement =>
  prepareStatement(text, text.replace('(scope, webhook_no) DO', '(webhook_no) DO'))

/** Sizes of `IN` lists: three texts serve any number of ids. */
export const ID_LIST_SIZES = [8, 32, 128]

/**
 * Returns the text for SQLite of a statement by scope and ids, which finds the rows by their ids:
 * `+` hides the last scope from the planner, that of the rows. With the index of scope and id, each
 * row takes two seeks.
 */
export const seekByIds = (text: string): string =>
  text.replace(/scope = \?(?!.*scope = \?)/s, '+scope = ?')
