/** SQLite acknowledges a write after its sync; disk errors are reported. */
import assert from 'node:assert/strict'
import { mkdir, open, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openSqlite, type SqliteDeps } from '../../src/platform/storage/sqlite.ts'

async function withTable(t: TestContext, deps: Partial<SqliteDeps> = {}): Promise<Database> {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openSqlite(file, { log: quietLog, ...deps })
  onEnd(t, () => db.close())
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT)'))
  return db
}

const insert = (db: Database, id: number, s = '') =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id, s) VALUES (${id}, ${s})`))
const count = async (db: Database) => (await db.get(sql`SELECT count(*) AS n FROM t`))?.n

/** A disk whose syncs end when the test ends them. */
function createDisk() {
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  let onSync = () => {}
  return {
    waiting,
    manual: false,
    sync(): Promise<void> {
      if (!this.manual) return Promise.resolve()
      return new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        onSync()
      })
    },
    /** Ends all syncs, so that a failed test can close its database. */
    release(): void {
      this.manual = false
      for (const sync of waiting.splice(0)) sync.resolve()
    },
    async next() {
      if (waiting.length === 0) await new Promise<void>((resolve) => (onSync = resolve))
      return waiting.shift()!
    },
  }
}

/** Ids of a full batch, which commits without waiting for the sync. */
const FULL_BATCH = Array.from({ length: 64 }, (_, n) => n + 2)
const untilCommitted = async (db: Database, rows: number) => {
  while ((await count(db)) < rows) await new Promise((resolve) => setImmediate(resolve))
}

test('with `syncAfterMs`, a write is acknowledged before its sync', async (t) => {
  const slow = createDisk()
  onEnd(t, () => slow.release())
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

test('a write is acknowledged after a sync that began after its commit', async (t) => {
  const slow = createDisk()
  onEnd(t, () => slow.release())
  const db = await withTable(t, { sync: () => slow.sync() })
  slow.manual = true
  const log: string[] = []
  const write = (id: number) =>
    db.write(async (tx) => {
      tx.afterCommit(() => log.push(`after ${id}`))
      await tx.run(sql`INSERT INTO t (id) VALUES (${id})`)
    })
  const first = write(1).then(() => log.push('first'))
  const sync = await slow.next()
  const second = Promise.all(FULL_BATCH.map(write)).then(() => log.push('second'))
  await untilCommitted(db, 65)
  assert.deepEqual(log, [], 'every write is committed and none is synced')
  sync.resolve()
  await first
  const covering = await slow.next()
  assert.deepEqual(log, ['after 1', 'first'], 'the first sync began before the second commit')
  covering.resolve()
  await second
  assert.deepEqual(log.slice(2), [...FULL_BATCH.map((id) => `after ${id}`), 'second'])
})

test('an unsynced write resolves before the sync, which a later write includes', async (t) => {
  const slow = createDisk()
  onEnd(t, () => slow.release())
  const db = await withTable(t, { sync: () => slow.sync() })
  slow.manual = true
  const add = (tx: Tx) => tx.run(sql`INSERT INTO t (id) VALUES (1)`)
  assert.equal(await db.write(add, { unsynced: true }), 1)
  assert.equal(slow.waiting.length, 0)
  const synced = insert(db, 2)
  const sync = await slow.next()
  assert.equal(await count(db), 2)
  sync.resolve()
  await synced
})

test('writes that arrive during a sync form one commit after it', async (t) => {
  const slow = createDisk()
  onEnd(t, () => slow.release())
  const db = await withTable(t, { sync: () => slow.sync() })
  slow.manual = true
  const first = insert(db, 1)
  const sync = await slow.next()
  const later = [insert(db, 2), insert(db, 3)]
  for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(await count(db), 1)
  sync.resolve()
  await first
  const covering = await slow.next()
  assert.equal(await count(db), 3)
  covering.resolve()
  await Promise.all(later)
  assert.equal(slow.waiting.length, 0)
})

test('after a failed sync every write is rejected, even if a later sync succeeds', async (t) => {
  const broken = createDisk()
  onEnd(t, () => broken.release())
  const db = await withTable(t, { sync: () => broken.sync() })
  broken.manual = true
  const first = insert(db, 1)
  const sync = await broken.next()
  const second = FULL_BATCH.map((id) => insert(db, id))
  await untilCommitted(db, 65)
  broken.manual = false // a later sync would succeed
  sync.reject(new Error('EIO'))
  for (const write of [first, ...second, insert(db, 66)]) {
    await assert.rejects(write, { code: 'storage_unavailable' })
  }
  assert.equal(await count(db), 65, 'reads still work')
})

test('a sync that throws at once rejects the write, and the database closes', async () => {
  const sync = () => {
    throw new Error('the disk does not sync')
  }
  const db = await openSqlite(join(await freshFolder(), 'gatehook.db'), { log: quietLog, sync })
  const write = db.write((tx) => tx.run(sql`PRAGMA user_version = 1`))
  await assert.rejects(write, { code: 'storage_unavailable' })
  await db.close()
})

test('a full disk gives storage_unavailable; free space ends the fault', async (t) => {
  const db = await withTable(t)
  await insert(db, 1)
  // SQLite applies the limit to one connection: that of the writer.
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

test('the file is created with mode 0600, in a new folder', async (t) => {
  const file = join(await freshFolder(), 'a', 'b', 'gatehook.db')
  await openForTest(t, `sqlite:${file}`)
  for (const name of [file, `${file}-wal`, `${file}-shm`]) {
    assert.equal((await stat(name)).mode & 0o777, 0o600, name)
  }
})

test('closing checkpoints the log and removes it', async () => {
  const file = join(await freshFolder(), 'gatehook.db')
  const db = await openSqlite(file, { log: quietLog })
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER PRIMARY KEY)'))
  await db.close()
  await db.close()
  await assert.rejects(open(`${file}-wal`), { code: 'ENOENT' })
})

test('a path that cannot be a database is rejected with one sentence', async () => {
  const folder = await freshFolder()
  const text = join(folder, 'text.db')
  await writeFile(
    text,
    'not a database, but long enough to have a header, or what looks like one'.repeat(20),
  )
  await mkdir(join(folder, 'folder.db'))
  const expectedError = {
    name: 'StorageError',
    message: /^The database \/.* cannot be opened: .+\.$/,
  }
  for (const path of [text, join(folder, 'folder.db'), join(text, 'below', 'x.db')]) {
    await assert.rejects(openDatabase(`sqlite:${path}`, { log: quietLog }), expectedError)
  }
})

test('an invalid address is rejected with one sentence', async () => {
  for (const url of ['sqlite::memory:', 'sqlite:', 'mysql://x', 'data/gatehook.db', '']) {
    await assert.rejects(openDatabase(url, { log: quietLog }), { name: 'StorageError' })
  }
})
