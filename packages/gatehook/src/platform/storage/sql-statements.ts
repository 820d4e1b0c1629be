/** Splits SQL into statements, and classifies the locks that they take. Pure. */
import type { Database } from './database.ts'

const QUOTES = new Set(["'", '"'])

/** Splits at semicolons outside of quotes, comments and dollar quotes; removes comments. */
export function splitStatements(text: string): string[] {
  const statements: string[] = []
  let statement = ''
  const end = () => {
    const trimmed = statement.trim().replace(/\s+/g, ' ')
    if (trimmed !== '') statements.push(trimmed)
    statement = ''
  }
  for (let at = 0; at < text.length; ) {
    const char = text[at]!
    if (char === ';') {
      if (isInsideTrigger(statement)) statement += char
      else end()
      at++
      continue
    }
    const next = endOfPart(text, at)
    if (!text.startsWith('--', at) && !text.startsWith('/*', at)) statement += text.slice(at, next)
    else statement += ' '
    at = next
  }
  end()
  return statements
}

/** Whether a semicolon ends a statement in the body of a trigger of SQLite: `BEGIN …; END`. */
const isInsideTrigger = (statement: string): boolean =>
  /^\s*CREATE TRIGGER\b/i.test(statement) &&
  /\sBEGIN\s/i.test(statement) &&
  !/\sEND\s*$/i.test(statement)

/** Returns the position after the quoted text, the comment or the character at `at`. */
function endOfPart(text: string, at: number): number {
  const after = (closing: string, from: number) => {
    const position = text.indexOf(closing, from)
    return position < 0 ? text.length : position + closing.length
  }
  if (QUOTES.has(text[at]!)) return after(text[at]!, at + 1)
  if (text.startsWith('--', at)) return after('\n', at + 2)
  if (text.startsWith('/*', at)) return after('*/', at + 2)
  if (text[at] === '$') {
    const tag = /^\$[a-z_]{0,63}\$/i.exec(text.slice(at, at + 65))?.[0]
    if (tag !== undefined) return after(tag, at + tag.length)
  }
  return at + 1
}

export interface StatementLock {
  /** The name of the lock in the documentation of the database; null without one. */
  readonly lock: string | null
  /** The requests to the table that wait while the statement runs. */
  readonly blocks: 'nothing' | 'changed rows' | 'writes' | 'reads and writes'
}

/** The first matching kind of statement. */
const KINDS: readonly (readonly [pattern: RegExp, lock: StatementLock])[] = [
  // Words of a plan: a start does so in short transactions.
  [/^(index|compute) the /, lockOf('ROW EXCLUSIVE')],
  [/^CREATE INDEX CONCURRENTLY|^DROP INDEX CONCURRENTLY/i, lockOf('SHARE UPDATE EXCLUSIVE')],
  [/^CREATE (UNIQUE )?INDEX/i, lockOf('SHARE', 'writes')],
  [/^CREATE TABLE .*\bREFERENCES\b/i, lockOf('SHARE ROW EXCLUSIVE', 'writes')],
  [/^CREATE TRIGGER/i, lockOf('SHARE ROW EXCLUSIVE', 'writes')],
  [/^CREATE\b/i, { lock: null, blocks: 'nothing' }],
  [/^(INSERT|UPDATE|DELETE)\b/i, lockOf('ROW EXCLUSIVE', 'changed rows')],
  [/^SELECT\b/i, lockOf('ACCESS SHARE')],
]

function lockOf(lock: string, blocks: StatementLock['blocks'] = 'nothing'): StatementLock {
  return { lock, blocks }
}

/** Returns the lock of a statement: for an unknown one, the strongest. */
export function classifyLock(name: Database['name'], statement: string): StatementLock {
  // The start changes a SQLite file before it serves; another process would wait.
  if (name === 'sqlite') return lockOf('the database file', 'writes')
  const [, lock] = KINDS.find(([pattern]) => pattern.test(statement)) ?? []
  return lock ?? lockOf('ACCESS EXCLUSIVE', 'reads and writes')
}
