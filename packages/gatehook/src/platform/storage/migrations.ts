/**
 * The changes of the engine's tables since the first release, in order. A new database gets the
 * tables as their modules declare them; an existing one the migrations that it lacks. The text of
 * a released migration never changes: databases store its checksum.
 */
export interface Migration {
  /** From 2 on: number 1 is the creation of the tables. */
  readonly number: number
  readonly name: string
  /** `{serial} {int} {text} {bytes}` are the types of the database. */
  readonly sql: string
  /**
   * Whether releases without the migration can use the database: it adds tables, indexes, and
   * columns that are nullable or have a default. So a rollback to the previous release works.
   */
  readonly additive?: boolean
}

export const migrations: readonly Migration[] = []
