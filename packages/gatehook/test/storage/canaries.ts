/** Searches a database, its files and its dump for a word that deletions must have removed. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { Database, Value } from '../../src/platform/storage/database.ts'
import { listTables } from '../../src/platform/storage/move/tables.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'

/** Returns every row of the database as text, by table. */
export async function readAll(db: Database): Promise<Map<string, string[]>> {
  const tables = new Map<string, string[]>()
  for (const name of await listTables(db)) {
    const rows = await db.arrays(prepareStatement(`SELECT * FROM "${name}"`)([]))
    const text = (value: Value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value)
    tables.set(name, rows.map((row) => row.map(text).join('\t')).sort())
  }
  return tables
}

export const rowsWith = (tables: ReadonlyMap<string, readonly string[]>, word: string) =>
  [...tables].flatMap(([name, rows]) =>
    rows.filter((row) => row.toLowerCase().includes(word)).map((row) => `${name}: ${row}`),
  )

/** Asserts that no file of SQLite has the word, once the pages of deleted rows are gone. */
export function assertNotInFiles(url: string, word: string): void {
  const path = url.replace('sqlite:', '')
  for (const file of [path, `${path}.monitoring.db`]) {
    const db = new DatabaseSync(file)
    db.exec('PRAGMA wal_checkpoint(TRUNCATE); VACUUM; PRAGMA wal_checkpoint(TRUNCATE)')
    db.close()
    assert.ok(!readFileSync(file, 'latin1').toLowerCase().includes(word), file)
  }
}
