/** Changes of tables that the team writes: `service({ migrations })` (§6.6). Pure. */
import type { DatabaseTexts } from '../../platform/storage/expressions.ts'

/** A change of a table with rows, which the team writes and reviews. */
export interface MigrationOptions {
  /** 1, 2, 3, …; never reused. */
  readonly number: number
  /** A summary for the log: `note becomes memo`. */
  readonly name: string
  /**
   * The table, by its name before the change. A database without the table does not run the
   * migration: it creates the table in the current shape. A migration without `table` runs on every
   * database after the tables of all resources are up to date: for tables, indexes and views of the
   * team.
   */
  readonly table?: string
  /**
   * The statements; `{int}`, `{real}` and `{text}` are column types. Two texts if the databases
   * differ.
   */
  readonly sql: DatabaseTexts
}

/** The SQL is a text, or one for each database. */
export function isMigration(migration: unknown): boolean {
  const { name, table = '', sql } = (migration ?? {}) as Partial<MigrationOptions>
  const texts = typeof sql === 'object' && sql !== null ? [sql.sqlite, sql.postgres] : [sql]
  return [name, table, ...texts].every((text) => typeof text === 'string')
}
