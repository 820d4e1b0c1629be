/** §18.1: requests that change one row in turn are named by customer and path, not as a lock. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { createHotRows } from '../../src/operate/system/hot-rows.ts'
import { listLockHolders } from '../../src/platform/storage/lock-holders.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import type { Call } from '../../src/protocol/http/call.ts'
import { createPendingChanges } from '../../src/protocol/idempotency/pending-changes.ts'

const NODES = 4

test('nodes that hold the lock of a row in turn are at no fault', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const open = async (application_name: string) => {
    const client = new pg.Client({ connectionString: url, application_name })
    await client.connect()
    onEnd(t, () => client.end())
    return client
  }
  const sessions = await Promise.all(Array.from({ length: NODES }, () => open('gatehook api-1')))
  await sessions[0]!.query("INSERT INTO gh_settings (name, value) VALUES ('one', '1')")
  const change = "BEGIN; UPDATE gh_settings SET value = value WHERE name = 'one'"
  await sessions[0]!.query(change)
  const waiting = sessions.slice(1).map((session) => session.query(change))
  const hotRows = createHotRows(db, { listCrowded: () => [CROWDED] })
  const poll = async () => {
    const [row] = await db.arrays(sql`SELECT ${hotRows.polled[0]!.select()}`)
    await hotRows.polled[0]!.receive(row![0]!, 0)
    return hotRows.warning()
  }
  assert.deepEqual(await eventually(poll, (warning) => warning !== undefined), {
    message: 'Requests wait for one row.',
    detail:
      '24 requests of the customer cus_1 wait for one row: PATCH /api/v2/orders/7 ' +
      '(/api/{version}/orders/{id}). Let the customer change it less often, or limit its requests.',
  })
  const isHeld = async () => (await listLockHolders(db))!
  await eventually(isHeld, ([holder]) => holder?.application === 'gatehook api-1')
  const workAndRead = async () => {
    await sessions[0]!.query('SELECT 1')
    return isHeld()
  }
  await eventually(workAndRead, ({ length }) => length === 0)
  await Promise.all(sessions.map((session) => session.query('ROLLBACK')))
  await Promise.all(waiting)
})

const CROWDED = {
  customer: 'cus_1',
  method: 'PATCH',
  path: '/api/v2/orders/7',
  route: '/api/{version}/orders/{id}',
  count: 24,
} as const

test('changes of one path by one customer count', async () => {
  const clock = { now: 0, elapsedMs: () => clock.now }
  const pending = createPendingChanges(clock)
  const gate = Promise.withResolvers<void>()
  const { route } = CROWDED
  const run = (customer: string, path: string, count: number, of = route as string) =>
    Array.from({ length: count }, () => {
      const call = { method: 'PATCH', path, route: of, principal: { customer } }
      return pending.run(call as Call, () => gate.promise)
    })
  const all = [
    ...run('cus_1', '/api/v2/orders/7', 24),
    ...run('cus_2', '/api/v2/orders/7', 4),
    ...run('cus_1', '/api/v2/orders', 24, '/api/v2/orders'),
  ]
  assert.deepEqual(pending.listCrowded(), [], 'at first')
  clock.now = 1_000
  assert.deepEqual(pending.listCrowded(), [CROWDED])
  const { warning } = createHotRows({ name: 'postgres' }, pending)
  assert.equal(warning(), undefined, 'no session waits for a row')
  gate.resolve()
  await Promise.all(all)
  assert.deepEqual(pending.listCrowded(), [])
})
