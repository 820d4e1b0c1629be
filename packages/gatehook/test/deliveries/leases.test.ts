/** Leases: one node holds a customer, and other nodes take over from a failed node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated, migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { startTrafficProxy } from '../../../../test/rig/postgres-traffic.ts'
import type { Clock } from '../../src/kernel/clock.ts'
import { nodeLeases, SharedLeases } from '../../src/outbound/deliveries/leases.ts'
import type { NodeLeases } from '../../src/outbound/deliveries/ports.ts'
import { createLeaseStore, type LeaseStore } from '../../src/platform/nodes/lease-store.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { idleWork } from './idle-work.ts'
import { MemoryLeases } from './memory-leases.ts'
import { registerNodes } from './register-nodes.ts'

/** A monotonic clock that the test advances. */
function createClock() {
  let at = 0
  return { clock: { now: () => 0, elapsedMs: () => at }, pass: (ms: number) => void (at += ms) }
}

/** Opens the leases of two registered nodes. */
async function openTwo(db: Database, clock: Clock) {
  await registerNodes(db, 'a', 'b')
  const open = (node: string) => nodeLeases({ db, clock, log: quietLog, node })
  return [open('a'), open('b')] as const
}

/** The leases of node `a` in a store. */
const leasesOf = (store: LeaseStore, clock: Clock) =>
  new SharedLeases({
    ...{ store, clock, log: quietLog, node: 'a' },
    ...{ isOwner: () => true, announce: async () => {} },
  })

/** Registers nodes; the first one joins. */
async function storeOf(db: Database, node: string, ...others: string[]): Promise<LeaseStore> {
  await registerNodes(db, node, ...others)
  const store = createLeaseStore(db)
  await store.join(node)
  return store
}

eachMigrated('other nodes take over from a stopped node within 30 s', async (db) => {
  const { clock, pass } = createClock()
  const [a, b] = await openTwo(db, clock)
  await a.heartbeat(idleWork)
  await a.take([1])
  assert.ok(a.isAlive && a.holds(1))
  await b.heartbeat(idleWork)
  await b.take([1])
  assert.ok(!b.holds(1))
  for (let s = 0; s < 30 && !b.holds(1); s += 2) {
    pass(2_000)
    await b.heartbeat(idleWork)
    await b.take([1])
  }
  assert.ok(b.isAlive && b.holds(1))
  assert.ok(!a.isAlive, 'it stops sending before another node takes over')
  await a.heartbeat(idleWork)
  assert.ok(!a.holds(1))
})

eachMigrated('a node that shuts down releases its customers at once', async (db) => {
  const [a, b] = await openTwo(db, createClock().clock)
  await a.heartbeat(idleWork)
  await a.take([1, 2])
  await b.heartbeat(idleWork)
  const before = b.generation
  await a.release()
  assert.ok(!a.isAlive && !a.holds(1))
  await b.heartbeat(idleWork)
  assert.notEqual(b.generation, before, 'it looks for the due work of those customers')
  await b.take([1, 2])
  assert.ok(b.holds(1) && b.holds(2))
})

eachMigrated('a node that joins gets its share of the customers', async (db) => {
  const [a, b] = await openTwo(db, createClock().clock)
  const customers = Array.from({ length: 20 }, (_, n) => n + 1)
  await a.heartbeat(idleWork)
  await a.take(customers)
  await b.heartbeat(idleWork)
  const before = b.generation
  await a.heartbeat(idleWork)
  await a.take(customers)
  await b.heartbeat(idleWork)
  assert.notEqual(b.generation, before, 'it looks for the due work of its new customers')
  const heldBy = (node: NodeLeases) => customers.filter((customer) => node.holds(customer))
  assert.equal(heldBy(a).length, 10)
  assert.equal(heldBy(b).length, 10)
})

eachMigrated('a heartbeat reads other customers of the same number', async (db) => {
  const store = await storeOf(db, 'a')
  await store.take('a', [1, 3])
  const customersOf = async (held: readonly number[]) =>
    (await store.heartbeat('a', new Set(held)))?.customers
  assert.equal(await customersOf([1, 3]), undefined)
  assert.deepEqual(await customersOf([1, 2]), [1, 3])
  assert.deepEqual(await customersOf([]), [1, 3])
})

/** The leases of node `a`, whose heartbeats end after `gate` once they have read. */
async function openGated() {
  const { clock } = createClock()
  const memory = new MemoryLeases()
  const state = { gate: Promise.resolve(), didRead: () => {} }
  const heartbeat: LeaseStore['heartbeat'] = async (...args) => {
    const result = await memory.heartbeat(...args)
    state.didRead()
    await state.gate
    return result
  }
  const store = { ...memory, heartbeat }
  const leases = leasesOf(store, clock)
  await leases.heartbeat(idleWork)
  /** Begins a heartbeat; runs `change` between its read and its end. */
  const beatAround = async (change: () => Promise<void>) => {
    const gate = Promise.withResolvers<void>()
    const read = new Promise<void>((resolve) => void (state.didRead = resolve))
    state.gate = gate.promise
    const beating = leases.heartbeat(idleWork)
    await read
    await change()
    gate.resolve()
    await beating
  }
  return { memory, leases, beatAround }
}

test('a heartbeat that read before a take keeps the customer of the take', async () => {
  const { memory, leases, beatAround } = await openGated()
  memory.leases.set(1, 'a')
  await beatAround(() => leases.take([2]))
  assert.ok(leases.holds(1) && leases.holds(2))
})

test('a heartbeat that read before a move does not bring the customer back', async () => {
  const { memory, leases, beatAround } = await openGated()
  await leases.take([1, 2])
  memory.nodes.set('b', 1)
  let isFinished = false
  const work = { ...idleWork, finish: () => isFinished }
  await leases.heartbeat(work)
  assert.ok(leases.hasHandovers)
  memory.leases.set(3, 'a')
  isFinished = true
  await beatAround(() => leases.finishHandovers(work))
  const [moved] = [...memory.leases].find(([, node]) => node === 'b')!
  assert.ok(!leases.holds(moved))
  assert.ok(leases.holds(3))
})

test('the engine looks for the due work of a customer that stays after all', async () => {
  const { clock, pass } = createClock()
  const memory = new MemoryLeases()
  const leases = leasesOf(memory, clock)
  await leases.heartbeat(idleWork)
  const work = { ...idleWork, finish: () => false }
  await leases.take([1, 2])
  memory.nodes.set('b', 1)
  await leases.heartbeat(work)
  const leaving = [1, 2].find((customer) => !leases.holds(customer))
  assert.ok(leaving, 'this node sends nothing of it meanwhile, and ignores wake-ups')
  const before = leases.generation
  pass(5_000)
  await leases.finishHandovers(work)
  assert.ok(leases.holds(leaving))
  assert.notEqual(leases.generation, before)
})

test('a node looks once a minute for customers that another one holds', async () => {
  const { clock, pass } = createClock()
  const memory = new MemoryLeases()
  let takes = 0
  const take: LeaseStore['take'] = (...args) => {
    takes += 1
    return memory.take(...args)
  }
  const store = { ...memory, take }
  const leases = leasesOf(store, clock)
  memory.nodes.set('b', 1).set('c', 1)
  memory.leases.set(1, 'b')
  await leases.heartbeat(idleWork)
  for (let n = 0; n < 5; n++) await leases.take([1])
  assert.equal(takes, 1)
  pass(60_000)
  await leases.take([1])
  assert.equal(takes, 2)
  await memory.remove(['b'])
  await leases.heartbeat(idleWork)
  await leases.take([1])
  assert.ok(leases.holds(1), 'the end of a node frees its customers at once')
})

test('a heartbeat is one round trip [postgres]', async (t) => {
  const { url, traffic } = await startTrafficProxy(t, await migratedUrl(t, 'postgres'))
  const db = await openForTest(t, url)
  const [leases, other] = await openTwo(db, createClock().clock)
  await leases.heartbeat(idleWork)
  await leases.take([1, 2])
  await other.heartbeat(idleWork)
  const before = traffic.roundTrips
  await leases.heartbeat({ ...idleWork, finish: () => false })
  assert.equal(traffic.roundTrips - before, 1)
})

eachMigrated('a node that is not registered gets no customer, and its leases end', async (db) => {
  const store = await storeOf(db, 'a', 'b')
  assert.deepEqual(await store.take('gone', [1]), [])
  assert.deepEqual(await store.take('a', [2, 1]), [1, 2])
  await store.hand('a', [{ customer: 1, target: 'gone' }])
  const state = (await store.heartbeat('a', new Set()))!
  assert.deepEqual(state.customers, [1, 2])
  assert.deepEqual(
    state.nodes.map(({ id, customers }) => [id, customers]),
    [['a', 2]],
  )
  assert.equal((await store.heartbeat('a', new Set([1, 2])))!.customers, undefined)
  await store.remove(['a'])
  assert.equal(await store.heartbeat('a', new Set([1, 2])), undefined)
  await store.join('b')
  assert.deepEqual(await store.take('b', [1, 2]), [1, 2])
})

test('a node that is removed while it takes a customer holds none [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const [db, other] = [await openForTest(t, url), await openForTest(t, url)]
  const store = await storeOf(other, 'a', 'b')
  const removals: Promise<void>[] = []
  const countWaiting = async () => {
    const [row] = await other.arrays(sql`SELECT count(*) FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`)
    return Number(row![0])
  }
  await db.write(async (tx) => {
    await tx.hold(sql`SELECT id FROM gh_nodes WHERE id = 'a'`)
    await tx.run(sql`INSERT INTO gh_delivery_leases (customer_no, node) VALUES (1, 'a')`)
    const removal = store.remove(['a'])
    removals.push(removal)
    await Promise.race([removal, eventually(countWaiting, (count) => count > 0)])
  })
  await Promise.all(removals)
  await store.join('b')
  assert.deepEqual(await store.take('b', [1]), [1])
})
