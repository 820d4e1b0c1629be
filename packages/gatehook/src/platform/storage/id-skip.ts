/**
 * Skips ids that may have been assigned in commits which the database no longer has: those that a
 * promoted standby lacks, and those since the backup that was restored.
 */
import type { Database, Tx } from './database.ts'
import { sql } from './sql.ts'

/** More ids than a service assigns in the time that can be lost. */
export const ID_SKIP = 1_000_000

/** Returns the statement that advances every sequence of PostgreSQL. */
export const skipSequences = (count: number): string =>
  `SELECT setval(format('%I.%I', schemaname, sequencename)::regclass,
    least(max_value - 1, coalesce(last_value, start_value) + ${count}))
  FROM pg_sequences WHERE schemaname = current_schema() AND increment_by > 0`

/** Advances the ids of all tables. */
export async function skipIds(
  { name }: Pick<Database, 'name'>,
  tx: Tx,
  count: number,
): Promise<void> {
  if (name === 'postgres') {
    await tx.all({ sql: '', text: skipSequences(count), values: [] })
    return
  }
  await tx.run(sql`UPDATE sqlite_sequence SET seq = seq + ${count}`)
  // A table that was empty has no row yet.
  await tx.run(sql`INSERT INTO sqlite_sequence (name, seq)
    SELECT name, ${count} FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%AUTOINCREMENT%'
      AND name NOT IN (SELECT name FROM sqlite_sequence)`)
}
