/** The values that the database generates for keys of rows. */
import type { Database } from './database.ts'
import { sql } from './sql.ts'

/** Returns the column whose values the database generates; undefined when absent. */
export async function serialColumn(db: Database, table: string): Promise<string | undefined> {
  if (db.name === 'sqlite') {
    const row = await db.get(sql`SELECT 1 AS present FROM sqlite_schema
      WHERE name = ${table} AND sql LIKE '%AUTOINCREMENT%'`)
    return row && 'rowid'
  }
  const row = await db.get(sql`SELECT column_name AS name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name = ${table} AND is_identity = 'YES'`)
  return row?.name
}

/** Returns the last value that was generated for a table, also in a deleted row. */
export async function lastAssigned(source: Database, table: string): Promise<number> {
  if (source.name === 'sqlite') {
    const row = await source.get(sql`SELECT seq FROM sqlite_sequence WHERE name = ${table}`)
    return Number(row?.seq ?? 0)
  }
  const column = await serialColumn(source, table)
  if (column === undefined) return 0
  const row = await source.get(sql`SELECT coalesce(pg_sequence_last_value(
    pg_get_serial_sequence(${table}, ${column})::regclass), 0) AS last`)
  return Number(row!.last)
}
