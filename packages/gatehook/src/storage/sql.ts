/**
 * Creates statements: the `sql` tag turns values into parameters, and `prepareStatement` serves
 * texts that run often. Only `raw` becomes part of the text; it never receives request data.
 */
import type { Statement } from './database.ts'

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

export type PreparedStatement = (values: readonly unknown[]) => Statement

/** Prepares a text with `?` for each value, and with no other `?`, for both databases. */
export function prepareStatement(text: string): PreparedStatement {
  let number = 0
  const numbered = text.replace(/\?/g, () => `$${++number}`)
  return (values) => ({ sql: text, text: numbered, values })
}
