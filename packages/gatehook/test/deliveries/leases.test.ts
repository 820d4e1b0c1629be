/** Leases: one node holds a customer, and other nodes take over from a failed node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { nodeLeases } from '../../src/deliveries/leases.ts'
import type { Database } from '../../src/storage/database.ts'

/** A monotonic clock that the test advances. */
function createClock() {
  let at = 0
  return { clock: { now: () => 0, elapsedMs: () => at }, pass: (ms: number) => void (at += ms) }
}

eachMigrated('other nodes take over from a stopped node within 30 s', async (db) => {
  const { clock, pass } = createClock()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  await a!.heartbeat()
  await a!.take([1])
  assert.ok(a!.isAlive && a!.holds(1))
  if (db.dialect.shared) {
    await b!.heartbeat()
    await b!.take([1])
    assert.ok(!b!.holds(1))
    for (let s = 0; s < 30 && !b!.holds(1); s += 2) {
      pass(2_000)
      await b!.heartbeat()
      await b!.take([1])
    }
  } else await b!.heartbeat() // on SQLite the last process to start sends
  assert.ok(b!.isAlive && b!.holds(1))
  if (db.dialect.shared) assert.ok(!a!.isAlive, 'it stops sending before another node takes over')
  await a!.heartbeat()
  assert.ok(!a!.holds(1))
})

eachMigrated('a node that shuts down releases its customers at once', async (db) => {
  const { clock } = createClock()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  await a!.heartbeat()
  await a!.take([1, 2])
  if (db.dialect.shared) await b!.heartbeat()
  const before = b!.generation
  await a!.release()
  assert.ok(!a!.isAlive && !a!.holds(1))
  await b!.heartbeat()
  assert.notEqual(b!.generation, before, 'it looks for the due work of those customers')
  await b!.take([1, 2])
  assert.ok(b!.holds(1) && b!.holds(2))
})

const postgres = databases.find(({ name }) => name === 'postgres')!

test('a node that joins gets its share of the customers [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const { clock } = createClock()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  const customers = Array.from({ length: 20 }, (_, n) => n + 1)
  await a!.heartbeat()
  await a!.take(customers)
  await b!.heartbeat()
  const before = b!.generation
  await a!.heartbeat()
  await a!.take(customers)
  await b!.heartbeat()
  assert.notEqual(b!.generation, before, 'it looks for the due work of its new customers')
  const heldBy = (node: typeof a) => customers.filter((customer) => node!.holds(customer))
  assert.equal(heldBy(a).length, 10)
  assert.equal(heldBy(b).length, 10)
})

test('a heartbeat that read before a take keeps the customer of the take [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const { clock } = createClock()
  const read = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  /** Holds back the held customers that a heartbeat reads, until `released`. */
  const slow: Database = {
    ...db,
    async arrays(statement) {
      const rows = await db.arrays(statement)
      if (statement.sql.startsWith('SELECT customer_no') && rows.length === 1) {
        read.resolve()
        await released.promise
      }
      return rows
    },
  }
  const leases = nodeLeases({ db: slow, clock, log: quietLog, node: 'a' })
  await leases.heartbeat()
  await nodeLeases({ db, clock, log: quietLog, node: 'a' }).take([1])
  const beating = leases.heartbeat()
  await read.promise
  await leases.take([2])
  released.resolve()
  await beating
  assert.ok(leases.holds(1) && leases.holds(2))
})
