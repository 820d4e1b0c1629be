/** Sends single statements, under the names that they have on all connections of a process. */
import type pg from 'pg'
import type { Statement } from './database.ts'

export interface ResultShape {
  readonly arrays?: boolean
  /** A clause after the text: the row lock, or RETURNING. */
  readonly suffix?: string
}

/** `rows` of the result are objects, or arrays if `shape.arrays`. */
export type SendStatement = (
  session: pg.ClientBase,
  statement: Statement,
  shape?: ResultShape,
) => Promise<pg.QueryResult>

/** Returns the text with the clause. The text can end in a comment of its line, or in `;`. */
export function textWith({ text }: Statement, suffix: string | undefined): string {
  if (suffix === undefined) return text
  const end = text.trimEnd()
  const whole = end.endsWith(';') ? end.slice(0, -1) : text
  return whole.includes('--') ? `${whole}\n${suffix}` : whole + suffix
}

/** Named prepared statements, which take memory per connection. Further texts have no name. */
const NAMED_STATEMENTS_MAX = 1_000

/**
 * Creates the function that returns the name of a text; undefined: the text has none. Behind a
 * pooler, `hasNames` is false.
 */
export function createNames(hasNames: boolean): (text: string) => string | undefined {
  const names = new Map<string, string>()
  return (text) => {
    if (!hasNames) return undefined
    let name = names.get(text)
    if (name === undefined && names.size < NAMED_STATEMENTS_MAX) {
      names.set(text, (name = `gh${names.size}`))
    }
    return name
  }
}

export const createSender =
  (nameOf: (text: string) => string | undefined): SendStatement =>
  (session, statement, shape) => {
    const text = textWith(statement, shape?.suffix)
    const name = statement.planned ? undefined : nameOf(text)
    return session.query({
      text,
      values: statement.values as unknown[],
      ...(name !== undefined && { name }),
      ...(shape?.arrays && { rowMode: 'array' }),
    } as pg.QueryConfig)
  }

/**
 * Sends a read as a transaction in one round trip: behind a pooler, its session has the settings of
 * others, and the order of UNION ALL depends on them.
 */
export const sendInTransaction =
  (send: SendStatement, localSettings: string): SendStatement =>
  async (session, statement, shape) => {
    const [, result] = await Promise.all([
      session.query(`BEGIN${localSettings}`),
      send(session, statement, shape),
      session.query('COMMIT'),
    ])
    return result
  }
