/**
 * Decision 0068: whatever the transactions of a customer wait for, those of the engine and of other
 * customers have connections. PostgreSQL; SQLite has one writer (`write-lanes.test.ts`).
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { databases, freshUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { backendGroup, jobGroup, personGroup } from '../../src/kernel/caller-group.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { connectionShares } from '../../src/platform/storage/connection-turns.ts'
import type { Database, Reader, Tx } from '../../src/platform/storage/database.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!

/** A database with a row of two customers each; a second process holds locks on it. */
async function openRows(t: TestContext, transactions: number) {
  const url = await freshUrl(t, 'postgres')
  const holder = await openForTest(t, url)
  await holder.migrate(async (_tx, ddl) => {
    await ddl(`CREATE TABLE rows_of (customer ${holder.dialect.types.int} PRIMARY KEY,
      n ${holder.dialect.types.int} NOT NULL);
      INSERT INTO rows_of VALUES (1, 0), (2, 0), (3, 0)`)
  })
  const connections = { transactions, reads: 2, deliveries: 1 }
  const db = await openDatabase({ url, connections }, { log: quietLog })
  onEnd(t, () => db.close())
  return { db, holder }
}

const add = (customer: number) => (tx: Tx) =>
  tx.run(sql`UPDATE rows_of SET n = n + 1 WHERE customer = ${customer}`)
const count = async (reader: Reader) =>
  (await reader.get(sql`SELECT count(*) AS n FROM rows_of`))!.n

/** Each way in which a customer, or the engine, uses a connection. */
const uses: Readonly<Record<string, (db: Database, customer: number) => Promise<unknown>>> = {
  write: (db, customer) => db.write(add(customer), { customer }),
  'serializable write': (db, customer) => db.write(add(customer), { customer, serializable: true }),
  'single write': (db, customer) => db.write(add(customer), { customer, single: true }),
  snapshot: (db, customer) => db.snapshot(count, { customer }),
  'ordered snapshot': (db, customer) => db.snapshot(count, { customer, ordered: true }),
  'long read': (db, customer) => db.longRead(customer, count),
  'write of the engine': (db, customer) => db.write(add(customer)),
  'snapshot of the engine': (db) => db.snapshot(count),
  read: (db) => count(db),
}
const waits = Object.entries(uses).filter(([name]) => /^(single |serializable )?write$/.test(name))

for (const [name, wait] of waits) {
  test(`of a customer whose rows are locked, any number may wait: ${name}`, async (t) => {
    const { db, holder } = await openRows(t, 5)
    const isHeld = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const held = holder.write(async (tx) => {
      await add(1)(tx)
      isHeld.resolve()
      await gate.promise
    })
    await isHeld.promise
    const waiting = Array.from({ length: 30 }, () => wait(db, 1))
    for (const [use, run] of Object.entries(uses)) {
      if (use.includes('engine') || use === 'read') await run(db, 3)
      else await run(db, 2)
    }
    gate.resolve()
    await Promise.all([held, ...waiting])
    assert.equal((await db.get(sql`SELECT n FROM rows_of WHERE customer = 1`))!.n, 31)
  })
}

/** The uses of connections that take turns, by a group of callers. */
const turns: Readonly<
  Record<string, (db: Database, group: string, body: Use) => Promise<unknown>>
> = {
  snapshot: (db, customer, body) => db.snapshot(body, { customer }),
  'long read': (db, customer, body) => db.longRead(customer, body),
  write: (db, customer, body) => db.write(body, { customer }),
}
type Use = (reader: Reader) => Promise<unknown>

for (const [name, use] of Object.entries(turns)) {
  test(`all groups of a customer wait, and another customer is served: ${name}`, async (t) => {
    const db = await postgres.open(t)
    const gate = Promise.withResolvers<void>()
    const [live, testMode] = [scopeOf(1, 'live'), scopeOf(1, 'test')]
    const groups = [backendGroup, personGroup, jobGroup].flatMap((group) => [
      group(live),
      group(testMode),
    ])
    const waiting = groups.flatMap((group) =>
      Array.from({ length: 8 }, () => use(db, group, () => gate.promise)),
    )
    const other = backendGroup(scopeOf(2, 'live'))
    assert.equal(await use(db, other, async () => 'served'), 'served')
    gate.resolve()
    await Promise.all(waiting)
  })
}

test('any number of connections has some for each customer, for others and for the engine', () => {
  for (let size = 3; size <= 500; size++) {
    const { customers, customer } = connectionShares(size)
    assert.ok(customer >= 1 && customer < customers && customers <= size, String(size))
    assert.ok(size < 5 || customers < size, `${size}: the engine has connections`)
    assert.ok(customer >= size / 2, `${size}: a single customer uses most of them`)
  }
})

test('requests of one customer that wait do not precede the next one of another', async (t) => {
  const db = await postgres.open(t)
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { customers, customer: share } = connectionShares(10)
  let startedCount = 0
  const use = (customer: number) =>
    db.write(
      async (tx) => {
        // Before the first statement: the order is that of the connections, not of their answers.
        order.push(String(customer))
        await tx.get(sql`SELECT 1 AS one`)
        if (++startedCount === customers) started.resolve()
        await gate.promise
      },
      { customer },
    )
  const all = [1, 2].flatMap((customer) => Array.from({ length: 20 }, () => use(customer)))
  await started.promise
  assert.deepEqual(order.filter((name) => name === '1').length, share)
  all.push(use(3))
  gate.resolve()
  await Promise.all(all)
  const position = order.indexOf('3')
  assert.ok(position < customers + 4, `it starts as number ${position}`)
})
