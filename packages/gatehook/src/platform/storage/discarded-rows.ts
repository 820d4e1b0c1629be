/**
 * Rows that a trigger or a rule of the team discards: the database reports success, and no row has
 * changed. The statement fails then, if the engine needs its row.
 */
import type { Statement, Tx } from './database.ts'

/** A row did not change, and the database says no error: a trigger of the team ignores it. */
export class DiscardedRowError extends Error {
  override readonly name = 'DiscardedRowError'
  /** The table of the row; undefined if the error has no statement. */
  readonly table: string | undefined
  /** The statements that drop the triggers of the table which can discard it. */
  readonly repair: string | undefined

  constructor(table?: string, repair?: string) {
    super('the database has discarded a row: a trigger ignores it')
    this.table = table
    this.repair = repair
  }
}

/** PostgreSQL does not support a statement of the engine, which a rule of the team replaces. */
export class ReplacedStatementError extends Error {
  override readonly name = 'ReplacedStatementError'
  /** The statements that drop the rules. */
  readonly repair: string

  constructor(repair: string, cause: unknown) {
    super('a rule of the database replaces a statement', { cause })
    this.repair = repair
  }
}

/** An INSERT into a table of the engine, whose rows are listed. */
const INSERT = /^INSERT INTO gh_\w+\s*\([^)]*\)\s*VALUES\b/
/** Another row may prevent it. */
const PREVENTABLE = /\bON CONFLICT\b.*\b(DO NOTHING|WHERE)\b/s

/** Whether a statement that changed `count` rows should have stored one. */
export const isDiscarded = (text: string, count: number | null): boolean =>
  count === 0 && INSERT.test(text) && !PREVENTABLE.test(text)

const CHANGE = /^\s*(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)/

/** Returns the error of a statement whose row was discarded. */
export const discardedBy = (text: string): DiscardedRowError =>
  new DiscardedRowError(CHANGE.exec(text)?.[1])

/**
 * Throws if a statement has changed no row: the caller has read it, so that only a trigger can
 * discard it.
 */
export function requireOne(count: number, text = ''): void {
  if (count === 0) throw discardedBy(text)
}

/** Runs a statement that changes a row. Throws if none has changed. */
export const runOne = async (tx: Pick<Tx, 'run'>, statement: Statement): Promise<void> =>
  requireOne(await tx.run(statement), statement.text)
