/** Small facts the service keeps about itself: names and JSON values in `gh_settings`. */
import type { Reader, Tx } from './database.ts'
import { sql } from './sql.ts'

/** The value under a name, or undefined. Its shape is known by whoever wrote it. */
export async function readSetting<T>(reader: Reader, name: string): Promise<T | undefined> {
  const row = await reader.get(sql`SELECT value FROM gh_settings WHERE name = ${name}`)
  return row && (JSON.parse(row.value) as T)
}

/** Keeps a JSON value under a name, in place of what was there. */
export async function writeSetting(tx: Tx, name: string, value: unknown): Promise<void> {
  await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES (${name}, ${JSON.stringify(value)})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`)
}
