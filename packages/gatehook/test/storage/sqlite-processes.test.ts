/** Several processes on one SQLite file, and one that is killed. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { freshFolder, openForTest } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/storage/database.ts'
import { sql } from '../../src/storage/sql.ts'

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
  t.after(() => child.kill('SIGKILL'))
  return child
}

const exited = (child: ChildProcess): Promise<unknown[]> => once(child, 'close')

const ids = async (db: Database): Promise<number[]> =>
  (await db.arrays(sql`SELECT id FROM t ORDER BY id`)).map((row) => Number(row[0]))

const insert = (db: Database, id: number) =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))

test('two processes write into one file and lose nothing', async (t) => {
  const { file, db } = await open(t)
  const child = start(t, file, 'write', '1000', '500')
  const ended = exited(child)
  child.stdout!.resume()
  for (let id = 0; id < 500; id++) await insert(db, id)
  assert.deepEqual(await ended, [0, null])
  const expected = Array.from({ length: 500 }, (_, n) => n)
  assert.deepEqual(await ids(db), [...expected, ...expected.map((id) => id + 1000)])
})

test('while another process holds the lock, reads go on and the write waits', async (t) => {
  const { file, db } = await open(t)
  const child = start(t, file, 'hold')
  await once(child.stdout!, 'data')
  let written = false
  const writing = insert(db, 1).then(() => (written = true))
  // Each turn of the loop would take as long as a blocking wait for the lock, which never ends.
  for (let turn = 0; turn < 200; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await ids(db), [])
  }
  assert.equal(written, false)
  child.stdin!.write('go on\n')
  await writing
  assert.deepEqual(await ids(db), [1])
})

test('every row that was acknowledged is there after kill -9', async (t) => {
  const { file, db } = await open(t)
  await db.close()
  const child = start(t, file, 'write', '0', 'Infinity')
  const ended = exited(child)
  const acknowledged: number[] = []
  for await (const line of createInterface({ input: child.stdout! })) {
    acknowledged.push(Number(line))
    if (acknowledged.length === 2000) child.kill('SIGKILL')
  }
  assert.deepEqual(await ended, [null, 'SIGKILL'])
  const again = await openForTest(t, `sqlite:${file}`)
  const kept = new Set(await ids(again))
  assert.ok(acknowledged.length >= 2000)
  assert.deepEqual(
    acknowledged.filter((id) => !kept.has(id)),
    [],
  )
  assert.deepEqual(await again.all(sql`PRAGMA integrity_check`), [{ integrity_check: 'ok' }])
})
