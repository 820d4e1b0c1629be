/** Internal settings of an installation: names and JSON values in `gh_settings`. */
import type { Database, Reader, Tx } from './database.ts'
import { type Sql, sql } from './sql.ts'

/** Whether a database has the engine's tables. */
export const isInstalled = async (db: Pick<Database, 'columns'>): Promise<boolean> =>
  (await db.columns('gh_settings')).length > 0

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

/** Stores a setting that is absent. Returns false if it exists. */
export const claimSetting = async (tx: Tx, name: string, value: unknown): Promise<boolean> =>
  (await tx.run(sql`INSERT INTO gh_settings (name, value) VALUES (${name}, ${JSON.stringify(value)})
    ON CONFLICT (name) DO NOTHING`)) === 1

/** Reads a setting and locks it until the transaction ends; undefined when absent. */
export async function lockSetting<T>(tx: Tx, name: string): Promise<T | undefined> {
  const row = await tx.lock(sql`SELECT value FROM gh_settings WHERE name = ${name}`)
  return row && (JSON.parse(row.value) as T)
}

/** Deletes a setting. Returns false if it was absent. */
export const deleteSetting = async (tx: Tx, name: string): Promise<boolean> =>
  (await tx.run(sql`DELETE FROM gh_settings WHERE name = ${name}`)) === 1

/** Deletes a setting unless it has another value now. */
export const deleteSettingOf = (tx: Tx, name: string, value: unknown): Promise<number> =>
  tx.run(sql`DELETE FROM gh_settings WHERE name = ${name} AND value = ${JSON.stringify(value)}`)

/** Returns SQL for the JSON text of a setting. */
export const selectSetting = (name: string): Sql =>
  sql`(SELECT value FROM gh_settings WHERE name = ${name})`
