/** When SQLite's writes are acknowledged, and what happens when the disk does not do its part. */
import assert from 'node:assert/strict'
import { mkdir, open, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshFolder, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/storage/database.ts'
import { openDatabase } from '../../src/storage/open.ts'
import { sql } from '../../src/storage/sql.ts'
import { openSqlite, type SqliteDeps } from '../../src/storage/sqlite.ts'

async function withTable(t: TestContext, deps: Partial<SqliteDeps> = {}): Promise<Database> {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openSqlite(file, { log: quietLog, ...deps })
  t.after(() => db.close())
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)'))
  return db
}

const insert = (db: Database, id: number, s = '') =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id, s) VALUES (${id}, ${s})`))
const count = async (db: Database) => (await db.get(sql`SELECT count(*) AS n FROM t`))?.n

/** Syncs that end when the test says so. */
function disk() {
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  let asked = () => {}
  return {
    waiting,
    manual: false,
    sync(): Promise<void> {
      if (!this.manual) return Promise.resolve()
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        asked()
      })
    },
    /** So that closing after a test that failed does not wait for ever. */
    release(): void {
      this.manual = false
      for (const sync of waiting.splice(0)) sync.resolve()
    },
    async next() {
      if (waiting.length === 0) await new Promise<void>((resolve) => (asked = resolve))
      return waiting.shift()!
    },
  }
}

/** As many as do not wait for the disk before they are committed. */
const FULL_BATCH = Array.from({ length: 64 }, (_, n) => n + 2)
const committed = async (db: Database, rows: number) => {
  while ((await count(db)) < rows) await new Promise((resolve) => setImmediate(resolve))
}

test('where it is asked for, a write is acknowledged before it is synced', async (t) => {
  const slow = disk()
  t.after(() => slow.release())
  const db = await withTable(t, { sync: () => slow.sync(), syncAfterMs: 0 })
  slow.manual = true
  await insert(db, 1)
  await insert(db, 2)
  assert.equal(await count(db), 2)
  const closing = db.close()
  const sync = await slow.next()
  slow.manual = false
  sync.resolve()
  await closing
})

test('a write is acknowledged by a sync that began after its commit, not before', async (t) => {
  const slow = disk()
  t.after(() => slow.release())
  const db = await withTable(t, { sync: () => slow.sync() })
  slow.manual = true
  const told: string[] = []
  const write = (id: number) =>
    db.write(async (tx) => {
      tx.afterCommit(() => told.push(`after ${id}`))
      await tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
    })
  const first = write(1).then(() => told.push('first'))
  const sync = await slow.next()
  const second = Promise.all(FULL_BATCH.map(write)).then(() => told.push('second'))
  await committed(db, 65)
  assert.deepEqual(told, [], 'all are committed, none is on disk')
  sync.resolve()
  await first
  const covering = await slow.next()
  assert.deepEqual(told, ['after 1', 'first'], 'the first sync began before the second commit')
  covering.resolve()
  await second
  assert.deepEqual(told.slice(2), [...FULL_BATCH.map((id) => `after ${id}`), 'second'])
})

test('what comes during a sync is one commit after it', async (t) => {
  const slow = disk()
  t.after(() => slow.release())
  const db = await withTable(t, { sync: () => slow.sync() })
  slow.manual = true
  const first = insert(db, 1)
  const sync = await slow.next()
  const later = [insert(db, 2), insert(db, 3)]
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await count(db), 1)
  sync.resolve()
  await first
  const covering = await slow.next()
  assert.equal(await count(db), 3)
  covering.resolve()
  await Promise.all(later)
  assert.equal(slow.waiting.length, 0)
})

test('after a failed sync nothing is acknowledged any more, not even by a later one', async (t) => {
  const broken = disk()
  t.after(() => broken.release())
  const db = await withTable(t, { sync: () => broken.sync() })
  broken.manual = true
  const first = insert(db, 1)
  const sync = await broken.next()
  const second = FULL_BATCH.map((id) => insert(db, id))
  await committed(db, 65)
  broken.manual = false // whoever asks again is told that all is well
  sync.reject(new Error('EIO'))
  for (const write of [first, ...second, insert(db, 66)]) {
    await assert.rejects(write, { code: 'storage_unavailable' })
  }
  assert.equal(await count(db), 65, 'reading goes on')
})

test('a full disk refuses by name; what was stored stays, and room lets it go on', async (t) => {
  const db = await withTable(t)
  await insert(db, 1)
  // On the writer's own connection, where the limit holds.
  const pages = await db.write((tx) => tx.get(sql`PRAGMA page_count`))
  const limit = (n: number) => db.write((tx) => tx.all(sqlText(`PRAGMA max_page_count = ${n}`)))
  await limit(pages?.page_count + 2)
  const big = 'x'.repeat(100_000)
  const outcomes = await Promise.allSettled([insert(db, 2), insert(db, 3, big), insert(db, 4)])
  const failed = outcomes[1] as PromiseRejectedResult
  assert.deepEqual([failed.reason.code, failed.reason.status], ['storage_unavailable', 503])
  assert.match(String(failed.reason.detail), /full/)
  const rows = await count(db)
  assert.equal(rows, 1 + outcomes.filter((outcome) => outcome.status === 'fulfilled').length)
  await limit(1_000_000)
  await insert(db, 5, big)
  assert.equal(await count(db), rows + 1)
})

const sqlText = (text: string) => ({ sql: text, text, values: [] })

test('the file is made with mode 0600, in a folder made for it', async (t) => {
  const file = join(await freshFolder(), 'a', 'b', 'gatehook.db')
  await openForTest(t, `sqlite:${file}`)
  for (const name of [file, `${file}-wal`, `${file}-shm`]) {
    assert.equal((await stat(name)).mode & 0o777, 0o600, name)
  }
})

test('closing brings the log home', async () => {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openSqlite(file, { log: quietLog })
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER PRIMARY KEY)'))
  await db.close()
  await db.close()
  await assert.rejects(open(`${file}-wal`), { code: 'ENOENT' })
})

test('what cannot be a database is refused in one sentence', async () => {
  const folder = await freshFolder()
  const text = join(folder, 'text.db')
  await writeFile(
    text,
    'not a database, but long enough to have a header, or what looks like one'.repeat(20),
  )
  await mkdir(join(folder, 'folder.db'))
  const refused = { name: 'StorageError', message: /^The database \/.* cannot be opened: .+\.$/ }
  for (const path of [text, join(folder, 'folder.db'), join(text, 'below', 'x.db')]) {
    await assert.rejects(openDatabase(`sqlite:${path}`, { log: quietLog }), refused)
  }
})

test('addresses that are no database are refused in one sentence', async () => {
  for (const url of ['sqlite::memory:', 'sqlite:', 'mysql://x', 'data/gatehook.db', '']) {
    await assert.rejects(openDatabase(url, { log: quietLog }), { name: 'StorageError' })
  }
})
