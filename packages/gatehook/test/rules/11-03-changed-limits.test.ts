/**
 * §11.3: under a changed limit, used requests count, and requests that a node has only reserved do
 * not. A node that ended without a return has reserved few.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import type { Limiter } from '../../src/protocol/quota/limiter.ts'
import {
  createLocalDraw,
  createSharedLimiter,
  type DrawRequests,
} from '../../src/protocol/quota/shared-limiter.ts'
import { createLimiter } from '../../src/protocol/quota/store.ts'

const CUSTOMER = 'cus_1'
const at = (limit: number, windowMs = 60_000) => [
  { key: 'total', rate: { limit, windowMs }, customer: CUSTOMER },
]

/** Opens the limiters of two nodes; on SQLite both are the one of its process. */
function openNodes(db: Database) {
  let now = 1_800_000_000_000
  const clock = { now: () => now, elapsedMs: () => 0 }
  const first = createLimiter(db, clock)
  const second = db.dialect.shared ? createLimiter(db, clock) : first
  const nodes = [first, second] as const
  return {
    nodes,
    pass: (ms: number) => void (now += ms),
    /** Ends the blocks of both nodes, as the change of the customer does. */
    release: () => Promise.all(nodes.map((node) => node.release(new Set([CUSTOMER])))),
  }
}

async function use(limiter: Limiter, count: number, limit: number): Promise<void> {
  for (let n = 0; n < count; n++) assert.ok((await limiter.take(at(limit))).allowed)
}

const take = async (limiter: Limiter, limit: number, windowMs?: number) => {
  const { allowed, remaining } = await limiter.take(at(limit, windowMs))
  return [allowed, remaining]
}

eachMigrated('of a lowered limit, requests of two nodes are left exactly', async (db) => {
  const { nodes, release } = openNodes(db)
  const [first, second] = nodes
  await use(first, 13, 10_000)
  await use(second, 2, 10_000)
  await release()
  assert.deepEqual(await take(second, 20), [true, 4])
  assert.deepEqual(await take(first, 20), [true, 3])
})

eachMigrated('a node that ended without a return has reserved few', async (db) => {
  const [first, second] = openNodes(db).nodes
  await use(first, 3, 10_000)
  const [allowed, remaining] = await take(second, 20)
  assert.ok(allowed && Number(remaining) >= 15, `${remaining} of 20`)
})

eachMigrated('40 used of 50 leave none of 20, for one window', async (db) => {
  const { nodes, release, pass } = openNodes(db)
  assert.ok((await nodes[0].take(at(50), 40)).allowed)
  await release()
  for (const node of nodes) assert.deepEqual(await take(node, 20), [false, 0])
  pass(59_000)
  for (const node of nodes) assert.deepEqual(await take(node, 20), [false, 0])
  pass(1_000)
  for (const node of nodes) assert.equal((await take(node, 20))[0], true)
})

eachMigrated('a raised limit admits requests within a second', async (db) => {
  const { nodes, pass } = openNodes(db)
  await use(nodes[0], 20, 20)
  for (const node of nodes) assert.deepEqual(await take(node, 20), [false, 0])
  pass(1_000)
  for (const node of nodes) assert.equal((await take(node, 100))[0], true)
})

eachMigrated('under a shorter window, former requests count no longer than it', async (db) => {
  const { nodes, pass } = openNodes(db)
  assert.ok((await nodes[0].take(at(1_000, 3_600_000), 500)).allowed)
  for (const node of nodes) assert.equal((await take(node, 100))[0], false)
  pass(60_000)
  for (const node of nodes) assert.equal((await take(node, 100))[0], true)
})

test('a node has reserved at most as many requests as it has used, and three', async () => {
  let reserved = 0
  const drawLocally = createLocalDraw()
  const draw: DrawRequests = async (...request) => {
    const result = await drawLocally(...request)
    reserved += result.granted
    return result
  }
  const clock = { now: () => 1_800_000_000_000, elapsedMs: () => 0 }
  const limiter = createSharedLimiter(clock, draw)
  for (let used = 1; used <= 2_000; used++) {
    assert.ok((await limiter.take(at(10_000))).allowed)
    const unused = reserved - used
    assert.ok(unused <= used + 3 && unused <= 200, `${unused} unused, ${used} used`)
  }
})

/** A clock that advances on command: windows are long, and no test waits for one. */
function steppedClock() {
  let now = Date.now()
  return { now: () => now, elapsedMs: () => performance.now(), pass: () => void (now += 1_000) }
}

test('a customer with a lowered total passes on a node once the other returns', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const clock = steppedClock()
  const options = { url, clock, env: { GATEHOOK_RATE_LIMIT: '1000/3600' } }
  const first = await openService(t, 'postgres', options)
  const second = await openService(t, 'postgres', options)
  const operator = second.as(await second.key({ scopes: ['admin'], mode: 'live' }))
  const customer = (await operator.post('/admin/customers', { name: 'Org' })).body.id as string
  const read = async (node: TestApp, key: string) =>
    (await node.as(key).get('/api/v2/protected')).headers.ratelimit ?? ''
  const [key, otherKey] = [await first.key({ customer }), await first.key({ customer })]
  for (const { app } of [first, second]) await app.work()
  for (let n = 0; n < 15; n++) assert.match(await read(first, key), /^"default"/)
  const limits = { total_rate_limit: { limit: 20, window_s: 3600 } }
  assert.equal((await operator.patch(`/admin/customers/${customer}`, { limits })).status, 200)
  // The requests that the limit rejects meanwhile do not count.
  await eventually(
    async () => {
      clock.pass()
      return read(second, otherKey)
    },
    (header) => header.startsWith('"customer";r=4;'),
  )
})
