/**
 * Two ways to a `Statement`: the `sql` tag (values become parameters; only `raw`, never given
 * request data, becomes text), and `fixed`, for a text made once and run often.
 */
import type { Statement } from './database.ts'

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

export type Prepared = (values: readonly unknown[]) => Statement

/** A text with `?` for each value; the numbered form is made once. The text holds no other `?`. */
export function fixed(text: string): Prepared {
  let number = 0
  const numbered = text.replace(/\?/g, () => `$${++number}`)
  return (values) => ({ sql: text, text: numbered, values })
}
