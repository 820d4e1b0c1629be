/** Reads of one event-loop iteration share one transaction, and delay no write. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTick } from 'node:timers/promises'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder, openForTest } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { Connection } from '../../src/platform/storage/sqlite-connection.ts'

async function open(t: TestContext) {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openForTest(t, `sqlite:${file}`)
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (text TEXT NOT NULL)'))
  return { file, db }
}

const count = async (db: Database) =>
  (await db.get<{ n: number }>(sql`SELECT count(*) AS n FROM t`))!.n

const insert = (db: Database, text: string) =>
  db.write((tx) => tx.run(sql`INSERT INTO t (text) VALUES (${text})`))

test('a commit of another connection is visible from the next event-loop iteration', async (t) => {
  const { file, db } = await open(t)
  const other = new Connection(file, false)
  onEnd(t, () => other.close())
  await nextTick()
  assert.equal(await count(db), 0)
  const stamp = db.stamp()
  other.exec("INSERT INTO t (text) VALUES ('other')")
  assert.equal(await count(db), 0)
  assert.equal(db.stamp(), stamp)
  await nextTick()
  assert.equal(await count(db), 1)
  assert.notEqual(db.stamp(), stamp)
})

test('an acknowledged write is visible in the same event-loop iteration', async (t) => {
  const { db } = await open(t)
  for (let n = 1; n <= 20; n++) {
    assert.equal(await count(db), n - 1)
    const stamp = db.stamp()
    await insert(db, 'a')
    assert.equal(await count(db), n)
    assert.notEqual(db.stamp(), stamp)
  }
})

test('reads still work after a failed statement', async (t) => {
  const { db } = await open(t)
  await insert(db, 'a')
  await assert.rejects(db.all(sql`SELECT * FROM nowhere`))
  assert.equal(await count(db), 1)
})
