/** §9.12: due work is found by its time; endpoints that wait for later cost nothing. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { updateCustomer } from '../../src/identity/access/customers.ts'
import { dueStore } from '../../src/outbound/deliveries/due-store.ts'
import { customerWaker } from '../../src/outbound/deliveries/registration-store.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { administration, ManualClock } from '../access/test-node.ts'

interface Waiting {
  readonly no: number
  readonly at: number
  readonly state?: string
  readonly active?: number
}

async function insertWaiting(db: Database, rows: readonly Waiting[]): Promise<void> {
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_customers (no, id, name, created_at)
      VALUES (5, 'cus_5', 'Five', 0)`)
    for (const { no, at, state = 'pending', active = 1 } of rows) {
      const nextAt = state === 'pending' ? at : null
      await tx.run(sql`INSERT INTO gh_webhooks
        (no, id, tag, scope, url, events, api_version, active, created_at, updated_at)
        VALUES (${no}, ${`wh_${no}`}, ${`t${no}`}, 10, '', '[]', 'v1', ${active}, 0, 0)`)
      await tx.run(sql`INSERT INTO gh_deliveries (id, scope, webhook_no, event_id, event_type,
        version, state, next_attempt_at, created_at)
        VALUES (${`dlv_${no}`}, 10, ${no}, 'evt_1', 'a.b', 'v1', ${state}, ${nextAt}, 0)`)
    }
  })
}

eachMigrated('a look returns the endpoints whose deliveries became due in its span', async (db) => {
  await insertWaiting(db, [
    { no: 1, at: 100 },
    { no: 2, at: 150 },
    { no: 3, at: 150, active: 0 },
    { no: 4, at: 150, state: 'delivered' },
    { no: 6, at: 201 },
  ])
  assert.deepEqual(await dueStore(db).readDuePage(100, 200), {
    endpoints: [{ no: 2, scope: 10, dueAt: 150 }],
    readUntil: 200,
    isComplete: true,
    nextDueAt: 201,
  })
})

eachMigrated('a look without due deliveries names the time of the next one', async (db) => {
  const store = dueStore(db)
  const empty = { endpoints: [], readUntil: 200, isComplete: true }
  assert.deepEqual(await store.readDuePage(100, 200), { ...empty, nextDueAt: undefined })
  await insertWaiting(db, [{ no: 1, at: 300 }])
  assert.deepEqual(await store.readDuePage(100, 200), { ...empty, nextDueAt: 300 })
})

eachMigrated('slices of the walk return every endpoint that may send, once', async (db) => {
  await insertWaiting(db, [
    { no: 1, at: 100 },
    { no: 2, at: 100, active: 0 },
    { no: 3, at: 900 },
  ])
  const store = dueStore(db)
  const first = await store.readEndpointSlice(0, 2)
  assert.deepEqual(first, { endpoints: [{ no: 1, scope: 10, dueAt: 100 }], next: 2 })
  const second = await store.readEndpointSlice(2, 2)
  assert.deepEqual(second, { endpoints: [{ no: 3, scope: 10, dueAt: 900 }], next: undefined })
})

eachMigrated('the engines are woken when a suspension begins or ends', async (db) => {
  await insertWaiting(db, [
    { no: 1, at: 100 },
    { no: 2, at: 100 },
  ])
  const wakeUps: (readonly number[])[] = []
  const admin = {
    ...administration(db, new ManualClock()),
    wakeDeliveriesOf: customerWaker((nos) => wakeUps.push(nos)),
  }
  for (const patch of [{ suspended: true }, { name: 'V' }, { suspended: false }]) {
    await updateCustomer(admin, 'cus_5', patch, { kind: 'cli', id: 'test' })
  }
  assert.deepEqual(wakeUps, [
    [1, 2],
    [1, 2],
  ])
})
