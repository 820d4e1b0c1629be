/** Internal settings of an installation: names and JSON values in `gh_settings`. */
import type { Reader, Tx } from './database.ts'
import { sql } from './sql.ts'

/** Reads a setting; undefined when absent. The caller states the type of the value. */
export async function readSetting<T>(reader: Reader, name: string): Promise<T | undefined> {
  const row = await reader.get(sql`SELECT value FROM gh_settings WHERE name = ${name}`)
  return row && (JSON.parse(row.value) as T)
}

/** Stores a setting as JSON, in place of an earlier value. */
export async function writeSetting(tx: Tx, name: string, value: unknown): Promise<void> {
  await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES (${name}, ${JSON.stringify(value)})
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`)
}
