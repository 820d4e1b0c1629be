/** Who does whose work: customers are held by one node, and a dead node's go to the living. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { nodeLeases } from '../../src/deliveries/leases.ts'

/** Real time of two nodes, moved by hand. */
function watch() {
  let at = 0
  return { clock: { now: () => 0, elapsedMs: () => at }, pass: (ms: number) => void (at += ms) }
}

eachMigrated('one that stood still is taken for dead within thirty seconds', async (db) => {
  const { clock, pass } = watch()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  await a!.beat()
  await a!.take([1])
  assert.ok(a!.alive && a!.holds(1))
  if (db.dialect.shared) {
    await b!.beat()
    await b!.take([1])
    assert.ok(!b!.holds(1))
    for (let s = 0; s < 30 && !b!.holds(1); s += 2) {
      pass(2_000)
      await b!.beat()
      await b!.take([1])
    }
  } else await b!.beat() // who starts last works from the file
  assert.ok(b!.alive && b!.holds(1))
  if (db.dialect.shared) assert.ok(!a!.alive, 'it stopped sending before it was taken for dead')
  await a!.beat()
  assert.ok(!a!.holds(1))
})

eachMigrated('one that ends in order leaves its work to others at once', async (db) => {
  const { clock } = watch()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  await a!.beat()
  await a!.take([1, 2])
  await a!.release()
  assert.ok(!a!.alive && !a!.holds(1))
  await b!.beat()
  await b!.take([1, 2])
  assert.ok(b!.holds(1) && b!.holds(2))
})

const postgres = databases.find(({ name }) => name === 'postgres')!

test('a node that joins gets its share [postgres]', async (t) => {
  const db = await postgres.openMigrated(t)
  const { clock } = watch()
  const [a, b] = ['a', 'b'].map((node) => nodeLeases({ db, clock, log: quietLog, node }))
  const customers = Array.from({ length: 20 }, (_, n) => n + 1)
  await a!.beat()
  await a!.take(customers)
  await b!.beat()
  await a!.beat()
  await a!.take(customers)
  await b!.take(customers)
  const held = (one: typeof a) => customers.filter((customer) => one!.holds(customer))
  assert.equal(held(a).length, 10)
  assert.equal(held(b).length, 10)
})
