/**
 * The statements of tables that are not the engine's, whose rows belong to a scope: those of
 * resources and of their words. Pure.
 */
import type { Dialect } from './database.ts'
import { distributeByScope } from './distribution/citus.ts'

interface ScopedTable {
  readonly name: string
  /** SQL of the columns after the scope, and of the key. */
  readonly parts: readonly string[]
  /** SQL of the foreign keys. */
  readonly references?: readonly string[]
  /** `CREATE INDEX …`. */
  readonly indexes: readonly string[]
  /** An engine's table of place `scope`. */
  readonly beside: string
  /** SQLite: rows are stored in the order of the key. */
  readonly byKey?: true
  /** Rows follow at once. SQLite then sorts them faster, if `indexes` are created after them. */
  readonly isFilled?: true
}

/** Returns the statements that create a table with its indexes, in their order. */
export function createScopedTable(
  { name: database, types, distributed }: Dialect,
  table: ScopedTable,
): string[] {
  const { name, parts, references = [], indexes, beside, byKey, isFilled } = table
  const isSqlite = database === 'sqlite'
  // A distributed table can refer to others only once it has its shards.
  const all = [`scope ${types.int} NOT NULL`, ...parts, ...(distributed ? [] : references)]
  const suffix = isSqlite && byKey ? ' WITHOUT ROWID' : ''
  const create = `CREATE TABLE ${name} (${all.join(', ')})${suffix}`
  if (isSqlite && isFilled) return [create]
  if (!distributed) return [create, ...indexes]
  const added = references.map((reference) => `ALTER TABLE ${name} ADD ${reference}`)
  return [create, ...indexes, distributeByScope(name, beside), ...added]
}

/** The rows of an index. */
interface IndexedRows {
  readonly hasIntegerIds: boolean
  /** Whether it has rows that no list has, so that another index has the order of lists. */
  readonly isUnordered: boolean
}

/**
 * Returns the columns of an index as the database stores them. An entry of SQLite ends with the
 * row's integer id in any case, so that an index does not name the id. Without statistics SQLite
 * prefers a unique index to that of a list, and passes the rows that the list lacks. The scope at
 * its end ends its order before the id; no two rows differ by it. See decision 0054.
 */
export function columnsOfIndex(
  database: Dialect['name'],
  columns: readonly string[],
  { hasIntegerIds, isUnordered }: IndexedRows,
): readonly string[] {
  if (database !== 'sqlite') return columns
  if (isUnordered) return [...columns, 'scope']
  return hasIntegerIds && columns.at(-1) === 'id' ? columns.slice(0, -1) : columns
}
