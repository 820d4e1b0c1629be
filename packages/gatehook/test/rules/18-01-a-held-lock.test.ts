/** §18.1: a lock that another program holds delays no request without bound. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { describeStorageFailure } from '../../src/platform/storage/storage-failure.ts'

const CUSTOMER = 1
const connections = { transactions: 5, reads: 2, deliveries: 1 }

const add = (tx: Tx) => tx.run(sql`UPDATE counted SET n = n + 1`)

/** A database, and a transaction of another process that has run `hold`. */
async function openHeld(t: TestContext, kind: 'sqlite' | 'postgres', hold: (tx: Tx) => unknown) {
  const url = await freshUrl(t, kind)
  const holder = await openForTest(t, url)
  await holder.migrate(async (_tx, ddl) => {
    await ddl(`CREATE TABLE counted (n ${holder.dialect.types.int} NOT NULL)`)
    await ddl('INSERT INTO counted VALUES (0)')
  })
  const db = await openDatabase({ url, connections }, { log: quietLog })
  onEnd(t, () => db.close())
  const isHeld = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const held = holder.write(async (tx) => {
    await hold(tx)
    isHeld.resolve()
    await gate.promise
  })
  await isHeld.promise
  const release = async () => {
    gate.resolve()
    await held
  }
  onEnd(t, release)
  return { db, release }
}

/** Returns the details of the failures; each has to be 503 with the cause in words. */
async function failuresOf(all: readonly Promise<unknown>[]): Promise<Set<unknown>> {
  const details = new Set<unknown>()
  for (const result of await Promise.allSettled(all)) {
    assert.ok(result.status === 'rejected' && result.reason instanceof Failure)
    assert.equal(result.reason.code, 'storage_unavailable')
    assert.match(String(describeStorageFailure(result.reason)), /lock of/)
    details.add(result.reason.detail)
  }
  return details
}

const writes = (db: Database, count: number, change: (tx: Tx) => Promise<unknown>) =>
  Array.from({ length: count }, () => db.write(change, { customer: CUSTOMER }))

for (const { name } of databases) {
  test(`a held lock fails all writes that wait for it [${name}]`, async (t) => {
    const { db, release } = await openHeld(t, name, add)
    let begun = 0
    const change = (tx: Tx) => {
      begun++
      return add(tx)
    }
    await failuresOf(writes(db, 40, change))
    assert.ok(begun <= connections.transactions, `${begun} waited, some after the others`)
    await release()
    await Promise.all(writes(db, 4, add))
    assert.equal((await db.get(sql`SELECT n FROM counted`))!.n, 5)
  })
}

test('reads behind one that waits for a lock fail with it', async (t) => {
  const lock = (tx: Tx) => tx.run(sql`LOCK TABLE counted IN ACCESS EXCLUSIVE MODE`)
  const { db, release } = await openHeld(t, 'postgres', lock)
  const reads = Array.from({ length: 12 }, () => db.get(sql`SELECT n FROM counted`))
  const details = await failuresOf(reads)
  assert.ok(details.size <= connections.reads, `${details.size} waited one after the other`)
  await release()
  assert.equal((await db.get(sql`SELECT n FROM counted`))!.n, 0)
})

test('the limit of a lock decreases by the time that its transaction has waited', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const limitOf = (tx: Tx) =>
    tx.get(sql`SELECT setting AS ms FROM pg_settings
    WHERE name = 'lock_timeout'`)
  const limitAfterWait = async (options: { customer?: number }) =>
    db.write(async (tx) => {
      await tx.get(sql`SELECT pg_sleep(1.1)`)
      return Number((await limitOf(tx))!.ms)
    }, options)
  assert.equal(await limitAfterWait({}), 5_000, 'work of the engine')
  const limit = await limitAfterWait({ customer: CUSTOMER })
  assert.ok(limit >= 1_000 && limit <= 3_900, `${limit} ms`)
})
