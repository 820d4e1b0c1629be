/** Cursors of the event feed survive a dump and a restore on another PostgreSQL server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { createFeed } from '../../src/history/events/feed.ts'
import { createRecorder } from '../../src/history/events/store.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { FeedCursor } from '../../src/platform/storage/commit-feed.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const scope = scopeOf(1, 'test')
const postgres = databases.find(({ name }) => name === 'postgres')!
/** Transactions that the old server was ahead of the new one. */
const AHEAD = 1_000_000_000

test('a reader resumes behind its event after transaction ids restarted', async (t) => {
  const db = await postgres.openMigrated(t)
  const record = createRecorder({
    clock: wallClock,
    random: systemRandom(),
    shape: 'v1',
    sinks: [],
  })
  const add = (n: number) => {
    const event = { type: 't.x', collection: undefined, objectId: n, object: `{"id":${n}}` }
    return db.write((tx) => record(tx, scope, event))
  }
  const feed = createFeed(db, wallClock)
  // A transaction that another test has open on the server delays the feed.
  const idsAfter = async (cursor: FeedCursor, count: number): Promise<number[]> => {
    const { rows } = await feed.after(scope, cursor)
    if (rows.length < count) return idsAfter(cursor, count)
    return rows.map((row) => JSON.parse(row[6] as string).id)
  }
  const [, second] = [await add(1), await add(2), await add(3)]
  await db.write((tx) => tx.run(sql`UPDATE gh_events SET txid = txid + ${AHEAD}`))
  await migrateEngine(db, { clock: wallClock })
  const end = await feed.end(scope)
  await add(4)
  assert.deepEqual(await idsAfter((await feed.cursorOf(scope, second.id))!, 2), [3, 4])
  assert.deepEqual(await idsAfter(end, 1), [4])
  const epoch = async () => (await db.get(sql`SELECT gh_txid_epoch() AS epoch`))!.epoch
  const epochAfterRestore = await epoch()
  await migrateEngine(db, { clock: wallClock })
  assert.equal(await epoch(), epochAfterRestore, 'a start on the same server changes nothing')
})
