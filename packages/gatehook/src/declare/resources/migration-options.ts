/** Changes of tables that the team writes: `service({ migrations })` (§6.6). Pure. */
import type { DatabaseTexts } from '../../platform/storage/expressions.ts'
import { splitStatements } from '../../platform/storage/sql-statements.ts'

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
   * The statements; `{int}`, `{real}`, `{text}` and `{bytes}` are column types. Two texts if the
   * databases differ. Each migration runs in a transaction of its own, which it does not end.
   */
  readonly sql: DatabaseTexts
}

/** The SQL is a text, or one for each database. */
export function isMigration(migration: unknown): boolean {
  const { name, table = '', sql } = (migration ?? {}) as Partial<MigrationOptions>
  return [name, table, ...textsOf(sql)].every((text) => typeof text === 'string')
}

const textsOf = (sql: unknown): readonly unknown[] => {
  if (typeof sql !== 'object' || sql === null) return [sql]
  const { sqlite, postgres } = sql as Partial<Record<'sqlite' | 'postgres', unknown>>
  return [sqlite, postgres]
}

/** The words in braces of `sql`. */
const TYPE_WORDS: ReadonlySet<string> = new Set(['int', 'real', 'text', 'bytes', 'serial', 'txid'])
/** Statements that begin or end a transaction, or a part of one. */
const OF_TRANSACTIONS =
  /^(ABORT|BEGIN|COMMIT|END|PREPARE TRANSACTION|RELEASE|ROLLBACK|SAVEPOINT|START TRANSACTION)\b/i

/** Returns a sentence for the developer per mistake. */
export function findMigrationMistakes(migrations: readonly MigrationOptions[]): string[] {
  return migrations.flatMap(({ number, sql }, n) => {
    const isNext = Number.isSafeInteger(number) && number > (migrations[n - 1]?.number ?? 0)
    const texts = textsOf(sql) as readonly string[]
    const words = texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, word]) => word!))
    const unknown = words.filter((word) => !TYPE_WORDS.has(word))
    const ends = texts
      .flatMap(splitStatements)
      .flatMap((statement) => OF_TRANSACTIONS.exec(statement)?.[0].toUpperCase() ?? [])
    return [
      ...(isNext ? [] : [`migration ${number}: numbers are 1, 2, …, oldest first`]),
      ...[...new Set(unknown)].map(
        (word) => `migration ${number}: {${word}} is no type; use {int}, {real}, {text} or {bytes}`,
      ),
      ...[...new Set(ends)].map(
        (word) =>
          `migration ${number}: ${word} is not possible: all pending migrations are applied in ` +
          'one transaction, or none of them',
      ),
    ]
  })
}
