/** Damages pages of a database that no process has open, as a failing disk does. */
import assert from 'node:assert/strict'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type PostgresServer, queryAsAdmin } from './postgres.ts'

const POSTGRES_PAGE_BYTES = 8_192

function overwritePage(file: string, no: number, bytes: number): void {
  const handle = openSync(file, 'r+')
  writeSync(handle, Buffer.alloc(bytes, 0xa5), 0, bytes, no * bytes)
  closeSync(handle)
}

/** Overwrites the first page of a SQLite file that fits a condition on `dbstat`. */
export function damageSqlite(file: string, where: string): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const page = db.prepare(`SELECT pageno, pgsize FROM dbstat WHERE ${where} ORDER BY pageno`).get()
  db.close()
  assert.ok(page, where)
  const { pageno, pgsize } = page as { pageno: number; pgsize: number }
  overwritePage(file, pageno - 1, pgsize)
}

/** Overwrites the first page of a table or index of PostgreSQL, and restarts the server. */
export async function damagePostgres(
  server: PostgresServer,
  url: string,
  relation: string,
): Promise<void> {
  const text = `SELECT current_setting('data_directory') AS folder,
    pg_relation_filepath('${relation}') AS path`
  const [place] = await queryAsAdmin(url, text)
  await server.halt('fast')
  overwritePage(join(place!.folder, place!.path), 0, POSTGRES_PAGE_BYTES)
  await server.start()
}
