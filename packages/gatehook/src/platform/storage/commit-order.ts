/** The order of commits of an append-only table; see `commitOrder` of `Dialect`. */
import type { Sql } from 'sql-template-tag'

export interface CommitOrder {
  /** Its columns, after the scope; the last one is unique. */
  readonly columns: readonly string[]
  /** SQL of the ids of open transactions, of any database: `{12,15}`. */
  readonly open: string
  /** The condition of listed rows: on a standby, those before all open transactions. */
  readonly isListed: string
  /** Returns the condition that a column has one of the ids of such a text. */
  readonly isAnyOf: (column: Sql, ids: unknown) => Sql
}
