/** One node at a time purges for all nodes. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { createChoreLease } from '../../src/operate/system/chore-lease.ts'

const MINUTE_MS = 60_000

function createClock() {
  const time = { now: 1_000_000 }
  return { time, clock: { now: () => time.now, elapsedMs: () => time.now } }
}

eachMigrated('a second node gets the lease when the first one releases it', async (db) => {
  const { time, clock } = createClock()
  const [a, b] = ['a', 'b'].map((node) => createChoreLease(db, clock, node))
  assert.ok(await a!.claim())
  assert.ok(!(await b!.claim()))
  assert.ok(await a!.claim(), 'the holder renews it')
  await b!.release(0)
  assert.ok(!(await b!.claim()), 'only the holder releases it')
  await a!.release(time.now + MINUTE_MS)
  assert.ok(!(await b!.claim()))
  time.now += MINUTE_MS
  assert.ok(await b!.claim())
  assert.ok(!(await a!.claim()))
})

eachMigrated('the lease of a node that was killed ends', async (db) => {
  const { time, clock } = createClock()
  const [a, b] = ['a', 'b'].map((node) => createChoreLease(db, clock, node))
  assert.ok(await a!.claim())
  time.now += 2 * MINUTE_MS - 1
  assert.ok(!(await b!.claim()))
  time.now += 1
  assert.ok(await b!.claim())
})

eachMigrated('a lease by a clock that ran ahead does not last', async (db) => {
  const { time, clock } = createClock()
  const [a, b] = ['a', 'b'].map((node) => createChoreLease(db, clock, node))
  time.now += 365 * 24 * 60 * MINUTE_MS
  assert.ok(await a!.claim())
  time.now -= 365 * 24 * 60 * MINUTE_MS
  assert.ok(await b!.claim())
})
