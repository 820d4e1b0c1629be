/**
 * §9.10, §9.12: an event of a clock that was far ahead changes neither the outcome of later
 * deliveries nor the range of replays. On SQLite the ids of later events are ahead, too.
 */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { changeBacklog } from '../../src/outbound/deliveries/backlog-store.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, pay, register, replayed } from '../webhooks/hook.ts'

const DAY_MS = 86_400_000
let aheadMs = 0
const clock = { now: () => Date.now() + aheadMs, elapsedMs: () => performance.now() }

/** Registers a paused endpoint; its deliveries wait in their events, or have rows. */
async function addEndpoint(service: TestApp, url: Parameters<typeof register>[1], waits: boolean) {
  const { id } = (await register(service, url, { events: ['payment.succeeded'] })).body
  await service.patch(`/webhooks/${id}`, { active: false })
  const { db } = service.app
  const key = await db.get<Parameters<typeof changeBacklog>[1] & Record<string, never>>(
    sql`SELECT no, scope FROM gh_webhooks WHERE id = ${id}`,
  )
  if (waits) await changeBacklog(db, key!, 1)
  return id as string
}

/** Pays at an instant; returns the id of the event. */
async function payAt(service: TestApp, n: number, atMs: number): Promise<string> {
  aheadMs = atMs
  return (await pay(service, n)).body.id
}

eachService(
  'deliveries after an event of the next year end with their event',
  async (service, t) => {
    aheadMs = 0
    const hook = await openHook(t)
    const ids = [await addEndpoint(service, hook, true), await addEndpoint(service, hook, false)]
    await payAt(service, 1, 365 * DAY_MS)
    const expired = await payAt(service, 2, 0)
    const recent = await payAt(service, 3, 2 * DAY_MS)
    aheadMs = 30 * DAY_MS + 3_600_000
    for (const run of Object.values(retention(service.app.db, clock))) await run()
    for (const id of ids) {
      const { data } = (await service.get(`/webhooks/${id}/deliveries`)).body
      const states = new Map(
        data.map((row: { event_id: string; state: string }) => [row.event_id, row.state]),
      )
      assert.equal(states.size, 3)
      assert.deepEqual([states.get(expired), states.get(recent)], ['exhausted', 'paused'])
    }
  },
  { ...LOCAL, clock },
)

eachService(
  'a replay and a recovery since an instant include later events only',
  async (service, t) => {
    aheadMs = 0
    const id = await addEndpoint(service, await openHook(t), false)
    await payAt(service, 1, 2 * DAY_MS)
    const old = await payAt(service, 2, 0)
    const recent = await payAt(service, 3, DAY_MS)
    const since = new Date(clock.now() - 3_600_000).toISOString()
    aheadMs = 3 * DAY_MS
    const { db } = service.app
    await service.app.work()
    for (const [operation, state] of [
      ['replay', 'delivered'],
      ['recover', 'failed'],
    ] as const) {
      await db.write((tx) => tx.run(sql`UPDATE gh_deliveries SET state = ${state}`))
      const reply = await service.post(`/webhooks/${id}/${operation}`, { since })
      assert.deepEqual([reply.status, reply.body.count], [202, 2], reply.text)
      await replayed(service, id)
      const due = await db.arrays(sql`SELECT event_id FROM gh_deliveries WHERE state = 'pending'`)
      assert.ok(due.flat().includes(recent), operation)
      assert.ok(!due.flat().includes(old), operation)
    }
  },
  { ...LOCAL, clock },
)

const NOW_MS = 100 * DAY_MS
const FUTURE_ROWS = 600

eachMigrated('a purge passes rows of a clock that was ahead', async (db) => {
  const series = sql`WITH RECURSIVE series(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${FUTURE_ROWS + 3})`
  const future = NOW_MS + DAY_MS
  // The last row has not expired.
  const at = sql`CASE WHEN n <= CAST(${FUTURE_ROWS} AS BIGINT) THEN CAST(${future} AS BIGINT)
    WHEN n = CAST(${FUTURE_ROWS + 3} AS BIGINT) THEN CAST(${NOW_MS - DAY_MS} AS BIGINT) ELSE 0 END`
  await db.write(async (tx) => {
    await tx.run(sql`${series} INSERT INTO gh_events (scope, id, type, shape, object, created)
      SELECT 10, 'evt_' || n, 'a.b', 'v1', '{}', (${at}) / 1000 FROM series ORDER BY n`)
    await tx.run(sql`${series} INSERT INTO gh_deliveries
        (id, scope, webhook_no, event_id, event_type, version, state, created_at)
      SELECT 'dlv_' || n || 't', 10, 1, 'evt_' || n, 'a.b', 'v1', 'delivered', ${at}
      FROM series ORDER BY n`)
  })
  const { events, deliveries } = retention(db, { now: () => NOW_MS, elapsedMs: () => 0 })
  await events!()
  await deliveries!()
  for (const table of [sql`gh_events`, sql`gh_deliveries`]) {
    const [row] = await db.arrays(sql`SELECT count(*) FROM ${table}`)
    assert.equal(Number(row![0]), FUTURE_ROWS + 1)
  }
})
