/** The log of SQLite is copied on a thread, and begins again under a load without a pause. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { createCheckpoints } from '../../src/platform/storage/sqlite-checkpoints.ts'
import { Connection } from '../../src/platform/storage/sqlite-connection.ts'

const MIB = 1_048_576
const LOOK = { sql: 'PRAGMA wal_checkpoint(NOOP)', text: '', values: [] }

async function open(t: TestContext) {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openForTest(t, `sqlite:${file}`)
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (text TEXT NOT NULL)'))
  const insert = (mib: number) =>
    db.write((tx) => tx.run(sql`INSERT INTO t (text) VALUES (${'x'.repeat(mib * MIB)})`))
  return { file, db, insert }
}

test('a log without further writes is copied while the database is open', async (t) => {
  const { file, insert } = await open(t)
  await insert(20)
  await insert(1)
  const other = new Connection(file, false)
  onEnd(t, () => other.close())
  const pagesLeft = async () => {
    const { log, checkpointed } = other.get(LOOK) as Record<string, number>
    return log! - checkpointed!
  }
  await eventually(pagesLeft, (left) => left < 2_048)
  assert.ok(statSync(file).size > 20 * MIB)
})

test('reads in every event-loop iteration let the log begin again', async (t) => {
  const { file, db, insert } = await open(t)
  const count = () => db.get(sql`SELECT count(*) AS n FROM t`)
  // More than the log may have, with the time that the thread needs.
  for (let n = 0; n < 300; n++) {
    const write = insert(1)
    await count()
    await write
  }
  assert.ok(statSync(`${file}-wal`).size < 160 * MIB)
  assert.deepEqual(await count(), { n: 300 })
})

test('a commit copies the last pages of a long log, which begins again', async (t) => {
  const { file, insert } = await open(t)
  for (let n = 0; n < 24; n++) await insert(1)
  const growth = async () => {
    const before = statSync(`${file}-wal`).size
    for (let n = 0; n < 4; n++) await insert(1)
    return statSync(`${file}-wal`).size - before
  }
  await eventually(growth, (bytes) => bytes === 0)
})

test('a thread that cannot copy starts again after five seconds', async (t) => {
  let elapsedMs = 0
  let looks = 0
  const get = () => {
    looks++
    return { log: 4_000, checkpointed: 0 }
  }
  const missing = join(await freshFolder(), 'missing', 'gatehook.db')
  const clock = { elapsedMs: () => elapsedMs }
  const checkpoints = createCheckpoints(missing, { get } as unknown as Connection, clock)
  onEnd(t, () => checkpoints.close())
  const started = once(process, 'worker')
  checkpoints.afterCommit()
  const [thread] = await started
  await new Promise((resolve) => thread.once('exit', resolve))
  elapsedMs = 4_999
  checkpoints.afterCommit()
  assert.equal(looks, 1)
  elapsedMs = 5_000
  checkpoints.afterCommit()
  assert.equal(looks, 2)
})
