/** Several processes write to one SQLite file; one is killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder, openForTest } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const PROCESS = new URL('./writer-process.ts', import.meta.url).pathname

async function open(t: TestContext): Promise<{ file: string; db: Database }> {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openForTest(t, `sqlite:${file}`)
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY)'))
  return { file, db }
}

function start(t: TestContext, ...argv: string[]): ChildProcess {
  const child = spawn(process.execPath, [PROCESS, ...argv], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onEnd(t, () => child.kill('SIGKILL'))
  return child
}

const waitForExit = (child: ChildProcess): Promise<unknown[]> => once(child, 'close')

const ids = async (db: Database): Promise<number[]> =>
  (await db.arrays(sql`SELECT id FROM t ORDER BY id`)).map((row) => Number(row[0]))

const insert = (db: Database, id: number) =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))

test('two processes write to one file without a lost row', async (t) => {
  const { file, db } = await open(t)
  const child = start(t, file, 'write', '1000', '500')
  const exit = waitForExit(child)
  child.stdout!.resume()
  for (let id = 0; id < 500; id++) await insert(db, id)
  assert.deepEqual(await exit, [0, null])
  const expected = Array.from({ length: 500 }, (_, n) => n)
  assert.deepEqual(await ids(db), [...expected, ...expected.map((id) => id + 1000)])
})

test('while another process holds the lock, reads work and the write waits', async (t) => {
  const { file, db } = await open(t)
  const child = start(t, file, 'hold')
  await once(child.stdout!, 'data')
  let written = false
  const writing = insert(db, 1).then(() => (written = true))
  // A blocking wait for the lock would stop the event loop, and this loop with it.
  for (let tick = 0; tick < 200; tick++) {
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await ids(db), [])
  }
  assert.equal(written, false)
  child.stdin!.write('release\n')
  await writing
  assert.deepEqual(await ids(db), [1])
})

test('every acknowledged row is stored after kill -9', async (t) => {
  const { file, db } = await open(t)
  await db.close()
  const child = start(t, file, 'write', '0', 'Infinity')
  const exit = waitForExit(child)
  const acknowledged: number[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    acknowledged.push(Number(line))
    if (acknowledged.length === 2000) child.kill('SIGKILL')
  }
  assert.deepEqual(await exit, [null, 'SIGKILL'])
  const reopened = await openForTest(t, `sqlite:${file}`)
  const storedIds = new Set(await ids(reopened))
  assert.ok(acknowledged.length >= 2000)
  assert.deepEqual(
    acknowledged.filter((id) => !storedIds.has(id)),
    [],
  )
  assert.deepEqual(await reopened.all(sql`PRAGMA integrity_check`), [{ integrity_check: 'ok' }])
})
