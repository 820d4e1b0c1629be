/**
 * A file of the database that others move or remove while it is open: writes are rejected until it
 * is back, and no acknowledged write is lost with the next start.
 */
import assert from 'node:assert/strict'
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshFolder, quietLog } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openSqlite } from '../../src/platform/storage/sqlite.ts'
import { describeStorageFailure } from '../../src/platform/storage/storage-failure.ts'

const open = (file: string) => openSqlite(file, { log: quietLog })
const insert = (db: Database, id: number) =>
  db.write((tx) => tx.run(sql`INSERT INTO t (id) VALUES (${id})`))
const idsOf = async (db: Database) =>
  (await db.all(sql`SELECT id FROM t ORDER BY id`)).map(({ id }) => id)

async function withRow(t: TestContext): Promise<{ db: Database; file: string }> {
  const file = join(await freshFolder(), 'data', 'gatehook.db')
  const db = await open(file)
  onEnd(t, () => db.close())
  await db.migrate(async (_tx, ddl) => ddl('CREATE TABLE t (id INTEGER PRIMARY KEY)'))
  await insert(db, 1)
  return { db, file }
}

async function assertRejected(db: Database, file: string): Promise<void> {
  await assert.rejects(insert(db, 2), (error: Failure) => {
    assert.equal(error.code, 'storage_unavailable')
    const sentence = describeStorageFailure(error)!
    assert.ok(sentence.startsWith(`${file} was moved, removed or replaced`), sentence)
    return true
  })
  assert.deepEqual(await idsOf(db), [1], 'reads go on')
}

/** Each moves files away, and returns the function that moves them back. */
const moves: Readonly<Record<string, (file: string) => () => void>> = {
  'its folder': (file) => {
    const folder = dirname(file)
    renameSync(folder, `${folder}.moved`)
    return () => renameSync(`${folder}.moved`, folder)
  },
  'its folder, with an empty one in its place': (file) => {
    const folder = dirname(file)
    renameSync(folder, `${folder}.moved`)
    mkdirSync(folder)
    return () => {
      rmSync(folder, { recursive: true })
      renameSync(`${folder}.moved`, folder)
    }
  },
  'the file': (file) => {
    renameSync(file, `${file}.moved`)
    return () => renameSync(`${file}.moved`, file)
  },
  'the file, with another one in its place': (file) => {
    renameSync(file, `${file}.moved`)
    writeFileSync(file, '')
    return () => renameSync(`${file}.moved`, file)
  },
}

for (const [name, move] of Object.entries(moves)) {
  test(`writes are rejected while ${name} is moved`, async (t) => {
    const { db, file } = await withRow(t)
    const moveBack = move(file)
    await assertRejected(db, file)
    moveBack()
    await insert(db, 3)
    assert.deepEqual(await idsOf(db), [1, 3])
  })
}

for (const suffix of ['-wal', '-shm']) {
  test(`writes are rejected while ${suffix} is moved`, async (t) => {
    const { db, file } = await withRow(t)
    renameSync(`${file}${suffix}`, `${file}${suffix}.moved`)
    await assertRejected(db, `${file}${suffix}`)
    renameSync(`${file}${suffix}.moved`, `${file}${suffix}`)
    await insert(db, 3)
    assert.deepEqual(await idsOf(db), [1, 3])
  })
}

test('the commits of a removed log are in the database', async (t) => {
  const { db, file } = await withRow(t)
  rmSync(`${file}-wal`)
  await assertRejected(db, `${file}-wal`)
  // As after `kill -9`: the next process finds the files as they are now.
  rmSync(`${file}-shm`)
  const next = await open(file)
  onEnd(t, () => next.close())
  assert.deepEqual(await idsOf(next), [1])
  await insert(next, 2)
})

test('a write that outlives its path is not acknowledged', async (t) => {
  const { db, file } = await withRow(t)
  const folder = dirname(file)
  const write = db.write(async (tx) => {
    await tx.run(sql`INSERT INTO t (id) VALUES (2)`)
    renameSync(folder, `${folder}.moved`)
  })
  await assert.rejects(write, (error) => error instanceof Failure)
  renameSync(`${folder}.moved`, folder)
})
