/** Searches a dump of PostgreSQL for a word that deletions must have removed. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { openForTest } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { readAll, rowsWith } from './canaries.ts'

const run = promisify(execFile)

/** Asserts that a dump lacks the word: of `pg_dump`, unless it is older than the server. */
export async function assertNotInDump(t: TestContext, url: string, word: string): Promise<void> {
  const db = await openForTest(t, url)
  assert.deepEqual(rowsWith(await readAll(db), word), [])
  const row = await db.get(sql`SELECT current_setting('server_version_num') AS version`)
  const { stdout = '' } = await run('pg_dump', ['--version']).catch(() => ({ stdout: '' }))
  const client = Number(/ (\d+)/.exec(stdout)?.[1] ?? 0)
  if (client < Math.floor(Number(row!.version) / 10_000)) {
    return t.diagnostic('pg_dump is missing or older than the server; every table was read instead')
  }
  const dump = await run('pg_dump', [url], { maxBuffer: 1e9, encoding: 'latin1' })
  assert.match(dump.stdout, /CREATE TABLE/)
  assert.ok(!dump.stdout.toLowerCase().includes(word), 'pg_dump')
}
