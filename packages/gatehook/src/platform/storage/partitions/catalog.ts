/**
 * The tables that are partitioned by time on PostgreSQL (decision 0053), and their partitions as
 * the database describes them. On SQLite each is one table.
 */
import type { Database, Reader, Tx } from '../database.ts'
import { prepareStatement } from '../sql.ts'
import type { Table } from '../table.ts'
import {
  compareParts,
  type Division,
  hasOnePeriod,
  type Partition,
  parsePartition,
} from './periods.ts'

/** Runs a statement of `Database.migrate`. */
export type RunDdl = (sql: string) => Promise<void>

export interface TimeTable extends Division {
  readonly name: string
  /** The column by whose time the rows are divided. */
  readonly column: string
  /** SQL of the columns of an index that only the partitions without a period have. */
  readonly purgedBy: string | undefined
}

/** Returns a divided table as its partitions need it. */
export function timeTable({ name, divided, indexes = {} }: Table): TimeTable {
  return {
    ...divided!,
    name,
    purgedBy: Object.values(indexes).find(({ purges }) => purges)?.on,
  }
}

/** Opens no table, so that it waits for no lock. */
const partitions = prepareStatement(`SELECT c.relname AS name,
    pg_get_expr(c.relpartbound, 0) AS bound
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = to_regclass(quote_ident(?))`)
const moving = prepareStatement(`SELECT 1 AS moving WHERE to_regclass('gh_move') IS NOT NULL`)

/** Whether `gatehook move` has begun. */
export const isMoving = async (reader: Reader): Promise<boolean> =>
  (await reader.get(moving([]))) !== undefined

/**
 * Returns the partitions in the order of their ids; none on SQLite.
 *
 * @param reader - a database, or a transaction on PostgreSQL
 */
export async function readPartitions(
  reader: Database | Tx,
  { name }: TimeTable,
): Promise<Partition[]> {
  if ('name' in reader && reader.name === 'sqlite') return []
  const rows = await reader.all<{ name: string; bound: string }>(partitions([name]))
  return rows.map((row) => parsePartition(row.name, row.bound)).sort(compareParts)
}

/** Returns the names of the tables whose expired rows are purged one by one. */
export async function tablesOfMixedAge(db: Database, table: TimeTable): Promise<string[]> {
  if (db.name === 'sqlite') return [table.name]
  const all = await readPartitions(db, table)
  return all.filter((partition) => !hasOnePeriod(table, partition)).map(({ name }) => name)
}

/**
 * Locks the partitioned table against all other statements until the transaction ends. Returns
 * false during a move: its triggers do not record the rows of a dropped partition.
 */
export async function lockTable(tx: Tx, ddl: RunDdl, { name }: TimeTable): Promise<boolean> {
  await ddl(`LOCK TABLE ONLY ${name} IN ACCESS EXCLUSIVE MODE`)
  return !(await isMoving(tx))
}
