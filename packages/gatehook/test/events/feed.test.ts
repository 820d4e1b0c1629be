/** The feed behind the stream: in order, no gap, whoever commits late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { BATCH_BYTES, createFeed, type Place } from '../../src/events/feed.ts'
import { createRecorder } from '../../src/events/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { Database, Tx } from '../../src/storage/database.ts'

const scope = scopeOf(1, 'test')
const other = scopeOf(2, 'live')

function shop(db: Database) {
  const record = createRecorder({
    clock: wallClock,
    random: systemRandom(),
    shape: 'v1',
    sinks: [],
  })
  const feed = createFeed(db)
  const event = (tx: Tx, id: number, of = scope) =>
    record(tx, of, { type: 't.x', collection: undefined, objectId: id, object: `{"id":${id}}` })
  const read = async (place: Place) => {
    const ids: number[] = []
    for (;;) {
      const batch = await feed.after(scope, place)
      place = batch.place
      ids.push(...batch.rows.map((row) => JSON.parse(row[6] as string).id))
      if (!batch.more) return { ids, place }
    }
  }
  return { feed, event, read }
}

eachMigrated('from the end only what comes; from a place all behind it', async (db) => {
  const { feed, event, read } = shop(db)
  const first = await db.write((tx) => event(tx, 1))
  const end = await feed.end()
  for (let n = 2; n <= 230; n++) {
    await db.write(async (tx) => {
      await event(tx, n)
      await event(tx, -n, other)
    })
  }
  const expected = Array.from({ length: 229 }, (_, n) => n + 2)
  assert.deepEqual((await read(end)).ids, expected)
  assert.deepEqual((await read((await feed.placeOf(scope, first.id))!)).ids, expected)
  const last = await read(end)
  assert.deepEqual((await read(last.place)).ids, [])
  // Of another scope, or gone: what stands before it in time is the place.
  assert.deepEqual(
    (await read((await feed.placeOf(scope, `evt_0${'0'.repeat(21)}`))!)).ids.length,
    230,
  )
  for (const id of ['', 'evt_', "evt_'; --", 'x'.repeat(26)]) {
    assert.equal(await feed.placeOf(scope, id), undefined)
  }
})

const postgres = databases.find(({ name }) => name === 'postgres')!

test('a transaction that commits late is not skipped [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const { feed, event, read } = shop(db)
  const end = await feed.end()
  const [inside, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = db.write(async (tx) => {
    await event(tx, 1)
    inside.resolve()
    await goOn.promise
    await event(tx, 2)
  })
  await inside.promise
  await db.write((tx) => event(tx, 3))
  const before = await read(end)
  assert.deepEqual(before.ids, [])
  goOn.resolve()
  await late
  assert.deepEqual((await read(before.place)).ids, [1, 2, 3])
})

/** Calls of `arrays` by whether they read objects, and the bytes of those objects. */
function counted(db: Database) {
  const read: number[] = []
  const arrays: Database['arrays'] = async (statement) => {
    const rows = await db.arrays(statement)
    if (/ object /.test(statement.sql)) {
      read.push(rows.reduce((sum, row) => sum + (row[6] as string).length, 0))
    }
    return rows
  }
  return { db: { ...db, arrays } as Database, read }
}

eachMigrated('a batch of large events is small; unwanted ones are not read', async (db) => {
  const { db: spied, read } = counted(db)
  const feed = createFeed(spied)
  const { event } = shop(db)
  const record = createRecorder({
    clock: wallClock,
    random: systemRandom(),
    shape: 'v1',
    sinks: [],
  })
  const end = await feed.end()
  const large = JSON.stringify({ text: 'x'.repeat(200_000) })
  await db.write(async (tx) => {
    for (let n = 0; n < 8; n++) {
      await event(tx, n)
      await record(tx, scope, {
        type: 'large.x',
        collection: undefined,
        objectId: n,
        object: large,
      })
    }
  })
  const follow = async (isWanted?: (type: string) => boolean) => {
    let place = end
    let rows = 0
    for (;;) {
      const batch = await feed.after(scope, place, isWanted)
      rows += batch.rows.length
      place = batch.place
      if (!batch.more) return rows
    }
  }
  assert.equal(await follow(), 16)
  assert.equal(read.length, 4)
  for (const bytes of read) assert.ok(bytes <= BATCH_BYTES, `${bytes}`)
  read.length = 0
  assert.equal(await follow((type) => type === 't.x'), 8)
  assert.ok(read.reduce((sum, bytes) => sum + bytes, 0) < 1_000)
  read.length = 0
  assert.equal(await follow(() => false), 0)
  assert.deepEqual(read, [])
})
