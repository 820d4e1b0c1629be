/** §18.4: a start after an end without a close verifies the pages, and damage is not ready. */
import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'

const ROWS = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
  INSERT INTO t (name) SELECT 'row ' || i || printf('%.200c', 'x') FROM n`

/** Returns the path of a file beside a log that a process has not closed. */
async function leaveLog(t: TestContext): Promise<string> {
  const folder = await freshFolder()
  const file = join(folder, 'g.db')
  const db = new DatabaseSync(file)
  onEnd(t, () => db.close())
  db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE INDEX t_by_name ON t (name); ${ROWS}; PRAGMA wal_checkpoint(TRUNCATE);
    UPDATE t SET name = 'later ' || id WHERE id % 40 = 0`)
  const left = join(folder, 'left.db')
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, left + suffix)
  return left
}

async function openOwned(t: TestContext, file: string) {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) })
  const db = await openDatabase(`sqlite:${file}`, { log, ownership: { takesOver: false } })
  onEnd(t, () => db.close())
  return { db, lines }
}

test('the pages of another copy beside a log are damage', async (t) => {
  const file = await leaveLog(t)
  // A copy in place leaves other pages beside the former log.
  const other = new DatabaseSync(file)
  copyFileSync(`${file}-wal`, `${file}-log`)
  other.exec('DELETE FROM t WHERE id < 300; PRAGMA wal_checkpoint(TRUNCATE)')
  other.close()
  copyFileSync(`${file}-log`, `${file}-wal`)
  const { db, lines } = await openOwned(t, file)
  await eventually(async () => db.hasDamage(), Boolean)
  assert.match(lines.join(''), /the database is damaged.*The database is damaged/)
})

test('sound pages beside a log are none', async (t) => {
  const { db, lines } = await openOwned(t, await leaveLog(t))
  await eventually(async () => lines.join(''), Boolean)
  assert.match(lines.join(''), /without closing it: its pages are sound"/)
  assert.equal(db.hasDamage(), false)
})
