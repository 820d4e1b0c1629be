/** The size of a database. */
import { statSync } from 'node:fs'
import type { Reader } from './database.ts'
import { sql } from './sql.ts'

/** @param file the file of SQLite; undefined for PostgreSQL */
export async function readDatabaseBytes(db: Reader, file: string | undefined): Promise<number> {
  if (file === undefined) {
    const row = await db.get(sql`SELECT pg_database_size(current_database()) AS bytes`)
    return Number(row!.bytes)
  }
  return [file, `${file}-wal`].reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}
