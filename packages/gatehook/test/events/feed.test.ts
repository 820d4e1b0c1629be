/** §9.11: the feed returns events in order and without a gap, also after a late commit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated } from '../../../../test/rig/databases.ts'
import {
  BATCH_BYTES,
  createFeed,
  type Feed,
  unorderedClock,
} from '../../src/history/events/feed.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { type Clock, wallClock } from '../../src/kernel/clock.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { FeedCursor } from '../../src/platform/storage/commit-feed.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const scope = scopeOf(1, 'test')
const other = scopeOf(2, 'live')

function openFeed(db: Database, clock: Clock = wallClock) {
  const record = createRecorder({
    clock,
    random: systemRandom(),
    shape: 'v1',
    sinks: [],
  })
  const feed = createFeed(db, clock)
  const addEvent = (tx: Tx, id: number, { of = scope, type = 't.x', text = '' } = {}) =>
    record(tx, of, {
      type,
      collection: undefined,
      objectId: id,
      object: JSON.stringify({ id, text }),
    })
  /** Reads until `count` events are there: other tests' open transactions delay the feed. */
  const read = async (start: FeedCursor, count = 0) => {
    const ids: number[] = []
    for (let cursor = start; ; ) {
      const batch = await feed.after(scope, cursor)
      cursor = batch.cursor
      ids.push(...batch.rows.map((row) => JSON.parse(row[6] as string).id))
      if (!batch.hasMore && ids.length >= count) return { ids, cursor }
    }
  }
  return { feed, addEvent, read }
}

eachMigrated('a reader gets every later event of its scope once, in order', async (db) => {
  const { feed, addEvent, read } = openFeed(db)
  const first = await db.write((tx) => addEvent(tx, 1))
  // For an unknown event the cursor is behind the last older one: here, at the beginning.
  const beginning = (await feed.cursorOf(scope, `evt_0${'0'.repeat(21)}`))!
  await read(beginning, 1)
  const end = await feed.end(scope)
  for (let n = 2; n <= 230; n++) {
    await db.write(async (tx) => {
      await addEvent(tx, n)
      await addEvent(tx, -n, { of: other })
    })
  }
  const expected = Array.from({ length: 229 }, (_, n) => n + 2)
  const { ids, cursor } = await read(end, expected.length)
  assert.deepEqual(ids, expected)
  const afterFirst = (await feed.cursorOf(scope, first.id))!
  assert.deepEqual((await read(afterFirst, expected.length)).ids, expected)
  assert.deepEqual((await read(cursor)).ids, [])
  assert.equal((await read(beginning, 230)).ids.length, 230)
  for (const id of ['', 'evt_', "evt_'; --", 'x'.repeat(26)]) {
    assert.equal(await feed.cursorOf(scope, id), undefined)
  }
})

/** Transactions of other tests can each delay a read once. */
const READS_MAX = 100
const postgres = databases.find(({ name }) => name === 'postgres')!

test('the feed includes the events of a late commit [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const { feed, addEvent, read } = openFeed(db)
  const end = await feed.end(scope)
  const [inside, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const late = db.write(async (tx) => {
    await addEvent(tx, 1)
    await tx.get(sql`SELECT 1 AS sent`)
    inside.resolve()
    await goOn.promise
    await addEvent(tx, 2)
  })
  await inside.promise
  await db.write((tx) => addEvent(tx, 3))
  const before = await read(end)
  assert.deepEqual(before.ids, [])
  goOn.resolve()
  await late
  assert.deepEqual((await read(before.cursor, 3)).ids, [1, 2, 3])
})

/** Returns the number of the next event, within the reads that other tests can delay. */
async function readNext(feed: Feed, cursor: FeedCursor): Promise<number | undefined> {
  for (let read = 0; read < READS_MAX; read++) {
    const [row] = (await feed.after(scope, cursor)).rows
    if (row) return JSON.parse(row[6] as string).id
  }
  return undefined
}

test('the feed includes the events of a clock that was set back [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  let now = Date.now() + 86_400_000
  const { feed, addEvent } = openFeed(db, { now: () => now, elapsedMs: () => 0 })
  const ahead = await db.write((tx) => addEvent(tx, 1))
  const [end, cursor] = [await feed.end(scope), await feed.cursorOf(scope, ahead.id)]
  now = Date.now()
  await db.write((tx) => addEvent(tx, 2))
  assert.equal(await readNext(feed, end), 2)
  assert.equal(await readNext(feed, cursor!), 2)
})

test('the feed of a test clock includes events before its jump [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  let now = Date.now() + 60 * 86_400_000
  const { addEvent } = openFeed(db, { now: () => now, elapsedMs: () => 0 })
  const feed = createFeed(db, unorderedClock)
  const jumped = await db.write((tx) => addEvent(tx, 1))
  const cursor = await feed.cursorOf(scope, jumped.id)
  now = Date.now()
  await db.write((tx) => addEvent(tx, 2))
  assert.equal(await readNext(feed, cursor!), 2)
})

test('a transaction in another database does not stop the feed [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const neighbour = await postgres.openMigrated(t)
  const { feed, addEvent } = openFeed(db)
  const [inside, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const open = neighbour.write(async (tx) => {
    await openFeed(neighbour).addEvent(tx, 1)
    inside.resolve()
    await goOn.promise
  })
  await inside.promise
  try {
    await db.write((tx) => addEvent(tx, 1))
    let cursor = await feed.end(scope)
    await db.write((tx) => addEvent(tx, 2))
    const ids: number[] = []
    // One read notices the transaction, and the next one passes it.
    for (let read = 0; read < READS_MAX && ids.length === 0; read++) {
      const batch = await feed.after(scope, cursor)
      cursor = batch.cursor
      ids.push(...batch.rows.map((row) => JSON.parse(row[6] as string).id))
    }
    assert.deepEqual(ids, [2], 'and the end of the feed is behind the first event')
  } finally {
    goOn.resolve()
    await open
  }
})

/** Returns a database that lists the bytes of objects in each statement that reads objects. */
function withObjectSizes(db: Database) {
  const sizes: number[] = []
  const arrays: Database['arrays'] = async (statement) => {
    const rows = await db.arrays(statement)
    if (/ object /.test(statement.sql)) {
      sizes.push(rows.reduce((sum, row) => sum + (row[6] as string).length, 0))
    }
    return rows
  }
  return { db: { ...db, arrays } as Database, sizes }
}

eachMigrated('a batch is bounded in bytes, and reads no object of another type', async (db) => {
  const { db: observed, sizes } = withObjectSizes(db)
  const feed = createFeed(observed, wallClock)
  const { addEvent, read } = openFeed(db)
  const end = await feed.end(scope)
  const text = 'x'.repeat(200_000)
  await db.write(async (tx) => {
    for (let n = 0; n < 8; n++) {
      await addEvent(tx, n)
      await addEvent(tx, n, { type: 'large.x', text })
    }
  })
  /** Reads until `count` rows are there, as `read` does. */
  const countRows = async (count: number, includes?: (type: string) => boolean) => {
    sizes.length = 0
    let rows = 0
    for (let cursor = end; ; ) {
      const batch = await feed.after(scope, cursor, includes)
      rows += batch.rows.length
      cursor = batch.cursor
      if (!batch.hasMore && rows >= count) return rows
    }
  }
  await read(end, 16)
  assert.equal(await countRows(16), 16)
  assert.equal(sizes.length, 4)
  for (const bytes of sizes) assert.ok(bytes <= BATCH_BYTES, `${bytes}`)
  assert.equal(await countRows(8, (type) => type === 't.x'), 8)
  assert.ok(sizes.reduce((sum, bytes) => sum + bytes, 0) < 1_000)
  assert.equal(await countRows(0, () => false), 0)
  assert.deepEqual(sizes, [])
})
