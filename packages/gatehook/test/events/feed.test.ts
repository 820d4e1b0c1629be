/** The feed behind the stream: in order, no gap, whoever commits late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import { createFeed, type Place } from '../../src/events/feed.ts'
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
