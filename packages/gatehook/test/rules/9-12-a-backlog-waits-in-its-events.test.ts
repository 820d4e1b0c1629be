/** §9.12: deliveries of an endpoint that is behind wait in their events, without rows. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { backlogStore, ROWS_AND_WAITING } from '../../src/outbound/deliveries/backlog-store.ts'
import { checkReferences } from '../../src/outbound/deliveries/reference-check.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { holdBack } from '../webhooks/backlog.ts'
import { finishedLog, LOCAL, openHook, pay, register, replayed } from '../webhooks/hook.ts'

const CLOCK = { env: { ...LOCAL.env, GATEHOOK_TEST_CLOCK: '1' } }
const actor = { kind: 'test', id: 'test' } as never

const countRows = async ({ app }: TestApp, where = sql`1 = 1`): Promise<number> =>
  Number((await app.db.get(sql`SELECT count(*) AS n FROM gh_deliveries WHERE ${where}`))!.n)

async function purge({ app }: TestApp): Promise<void> {
  for (const run of Object.values(retention(app.db, app.administration.clock))) await run()
}

const idsOf = (data: readonly { readonly id: string }[]) => data.map(({ id }) => id)

eachService(
  'waiting deliveries are listed in every style, counted, read and sent',
  async (service, t) => {
    const { get } = service
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await holdBack(service, id)
    for (let n = 1; n <= 5; n++) await pay(service, n)
    assert.equal(await countRows(service), 0)
    const path = `/webhooks/${id}/deliveries`
    const all = (await get(`${path}?limit=100`)).body.data
    const deliveries = all.filter(
      ({ event_type: type }: { event_type: string }) => type === 'payment.succeeded',
    )
    assert.equal(deliveries.length, 5)
    for (const delivery of all) {
      assert.deepEqual([delivery.state, delivery.attempts], ['paused', []])
      assert.deepEqual((await get(`/deliveries/${delivery.id}`)).body, delivery)
    }
    const ids = idsOf(all)
    const first = (await get(`${path}?limit=2`)).body
    const second = (await get(`${path}?limit=2&cursor=${first.next_cursor}`)).body
    const back = (await get(`${path}?limit=2&cursor=${second.cursors.prev}`)).body
    assert.deepEqual(idsOf([...first.data, ...second.data]), ids.slice(0, 4))
    assert.deepEqual(idsOf(back.data), ids.slice(0, 2))
    const paged = await get(`${path}?pagination=page&page=2&per_page=2&state=paused`)
    assert.equal(paged.headers['x-total-count'], String(all.length))
    assert.deepEqual(idsOf(paged.body.data), ids.slice(2, 4))
    for (const state of ['pending', 'delivered', 'failed']) {
      assert.deepEqual((await get(`${path}?state=${state}`)).body.data, [], state)
    }
    const listed = (await get(`${path}?event_id=${deliveries[0].event_id}`)).body.data
    assert.deepEqual(listed, [deliveries[0]])
    await service.patch(`/webhooks/${id}`, { active: true })
    await service.app.work()
    const log = await finishedLog(service, id)
    const ended = log.filter((delivery) => ids.includes(delivery.id))
    assert.deepEqual(
      ended.map(({ state }) => state),
      ids.map(() => 'delivered'),
    )
    const payments = hook.calls.filter(({ event }) => event.type === 'payment.succeeded')
    assert.deepEqual(payments.map(({ event }) => event.data.object.id).toSorted(), [1, 2, 3, 4, 5])
    const hasBacklog = () =>
      service.app.db.get(sql`SELECT no FROM gh_webhooks WHERE id = ${id} AND backlog = 1`)
    await eventually(hasBacklog, (row) => row === undefined)
    const before = await countRows(service)
    await pay(service, 6)
    assert.equal(await countRows(service), before + 1)
  },
  LOCAL,
)

eachService(
  'operators see waiting deliveries in lists, totals, states of events and health',
  async (service, t) => {
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await holdBack(service, id)
    const { id: event } = (await pay(service, 1)).body
    const paths = [
      `/admin/deliveries?webhook=${id}&state=paused`,
      '/admin/deliveries?customer=default&mode=test&state=paused',
    ]
    for (const path of paths) {
      const { data } = (await admin.get(path)).body
      assert.ok(
        data.some(({ event_id }: { event_id: string }) => event_id === event),
        path,
      )
    }
    const [delivery] = (await service.get(`/webhooks/${id}/deliveries?event_id=${event}`)).body.data
    assert.equal((await admin.get(`/admin/deliveries/${delivery.id}`)).body.state, 'paused')
    const totals = { total: 1, delivered: 0, pending: 0, failed: 0, paused: 1 }
    const expanded = (await admin.get(`/admin/events/${event}?expand=deliveries`)).body.deliveries
    assert.deepEqual(idsOf(expanded.data), [delivery.id])
    const listed = async (query: string) =>
      (await admin.get(`/admin/events?type=payment.succeeded${query}`)).body.data
    assert.deepEqual((await listed('&delivery_state=paused'))[0].deliveries, totals)
    assert.deepEqual(await listed('&delivery_state=delivered'), [])
    for (const q of [delivery.id, delivery.id.slice(0, -2)]) {
      const { data } = (await admin.get(`/admin/search?q=${q}`)).body
      assert.deepEqual(idsOf(data), [delivery.id])
    }
    const { waiting } = (await admin.get(`/admin/webhooks/${id}/health`)).body
    assert.equal(waiting, (await service.get(`/webhooks/${id}/deliveries`)).body.data.length)
  },
  LOCAL,
)

eachService(
  'a resend gives one waiting delivery a row; a replay sends none twice',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['payment.succeeded'] })).body
    await holdBack(service, id)
    for (let n = 1; n <= 3; n++) await pay(service, n)
    const path = `/webhooks/${id}/deliveries`
    const { data } = (await service.get(path)).body
    const resent = await service.post(`/deliveries/${data[1].id}/resend`)
    assert.deepEqual([resent.status, resent.body.id], [202, data[1].id])
    assert.equal(await countRows(service), 1)
    assert.deepEqual(idsOf((await service.get(path)).body.data), idsOf(data))
    await service.app.work()
    const since = '2020-01-01T00:00:00Z'
    const replay = await service.post(`/webhooks/${id}/replay`, { since })
    assert.deepEqual(replay.body, { count: 0 })
    await replayed(service, id)
    assert.equal(await countRows(service), 1)
    await service.patch(`/webhooks/${id}`, { active: true })
    await finishedLog(service, id)
    const sent = hook.calls.filter(({ event }) => event.type === 'payment.succeeded')
    assert.deepEqual(sent.map(({ event }) => event.data.object.id).toSorted(), [1, 2, 3])
  },
  LOCAL,
)

eachService(
  'filter and version are those of the event; a deleted registration fails its deliveries',
  async (service, t) => {
    const hook = await openHook(t)
    const pinned = { events: ['payment.succeeded'], api_version: 'v1' }
    const { id } = (await register(service, hook, pinned)).body
    const key = await holdBack(service, id)
    await pay(service, 1)
    await service.patch(`/webhooks/${id}`, { events: ['user.*'], api_version: 'v2' })
    await pay(service, 2)
    const [delivery, ...others] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    assert.equal(others.length, 0)
    const versions = await service.app.db.arrays(
      sql`SELECT waiting_version FROM gh_events WHERE waits_for = ${key.no}`,
    )
    assert.deepEqual(versions.flat(), ['v1'])
    await service.delete(`/webhooks/${id}`)
    const state = async () => (await service.get(`/deliveries/${delivery.id}`)).body.state
    assert.equal(await state(), 'failed')
    await purge(service)
    assert.equal(await state(), 'failed')
    assert.equal(await countRows(service, sql`failed = 1`), 1)
  },
  LOCAL,
)

eachService(
  'a delivery that waits for 30 days is exhausted',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['payment.succeeded'] })).body
    await holdBack(service, id)
    await pay(service, 1)
    await service.app.clock!.set({ advance_s: 30 * 86_400 + 3_600 }, actor)
    await purge(service)
    const [delivery] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    assert.deepEqual([delivery.state, delivery.attempts], ['exhausted', []])
  },
  CLOCK,
)

const NOW = 1_000_000

eachMigrated(
  'a backlog begins at 1,001 pending deliveries, the first due for a minute',
  async (db) => {
    await db.write(async (tx) => {
      for (const no of [1, 2, 3]) {
        await tx.run(sql`INSERT INTO gh_webhooks
        (no, id, tag, scope, url, events, api_version, active, created_at, updated_at)
        VALUES (${no}, ${`wh_${no}`}, ${`t${no}`}, 10, '', '[]', 'v1', 0, 0, 0)`)
        await tx.run(sql`INSERT INTO gh_webhook_topics (scope, topic, webhook_no, tag, version)
        VALUES (10, '*', ${no}, ${`t${no}`}, 'v1')`)
        const rows = no === 1 ? 1_000 : 1_001
        const dueAt = no === 2 ? NOW - 59_999 : NOW - 60_000
        await tx.run(sql`WITH RECURSIVE series(n) AS
          (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < ${rows})
        INSERT INTO gh_deliveries (id, scope, webhook_no, event_id, event_type, version,
          next_attempt_at, created_at)
        SELECT 'dlv_' || n || ${`t${no}`}, 10, CAST(${no} AS BIGINT), 'evt_1', 'a.b', 'v1',
          CAST(${dueAt} AS BIGINT), 0 FROM series`)
      }
    })
    assert.equal(await backlogStore(db).beginBacklogs(NOW, 0), 0)
    for (const table of ['gh_webhooks', 'gh_webhook_topics']) {
      const no = table === 'gh_webhooks' ? 'no' : 'webhook_no'
      const rows = await db.arrays(
        sql`SELECT ${raw(no)} FROM ${raw(table)} WHERE backlog = 1 ORDER BY 1`,
      )
      assert.deepEqual(rows.flat(), [3], table)
    }
  },
)

/** Inserts events whose deliveries wait for registrations, which are created as well. */
const addWaiting = (db: Database, nos: readonly number[], recordedAt: number | null) =>
  db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_customers (no, id, name, created_at)
      VALUES (5, 'cus_5', '', 0)`)
    for (const no of nos) {
      await tx.run(sql`INSERT INTO gh_webhooks
        (no, id, tag, scope, url, events, api_version, active, created_at, updated_at)
        VALUES (${no}, ${`wh_${no}`}, ${`t${no}`}, 10, '', '[]', 'v1', 1, 0, 0)`)
      await tx.run(sql`INSERT INTO gh_events (scope, id, type, shape, object, created,
          recorded_at, waits_for, waiting_id, waiting_version)
        VALUES (10, ${`evt_${no}`}, 'a.b', 'v1', '{}', 7, ${recordedAt}, ${no}, ${`dlv_${no}t`},
          'v1')`)
    }
  })

eachMigrated('a waiting delivery has the time of its recording, and keeps it', async (db) => {
  await addWaiting(db, [1], 9_500)
  const times = () => db.arrays(sql`SELECT id, created_at FROM ${raw(ROWS_AND_WAITING)} AS d`)
  assert.deepEqual(await times(), [['dlv_1t', 9_500]])
  await backlogStore(db).fillBacklog({ no: 1, scope: scopeOf(5, 'test') })
  assert.deepEqual(await times(), [['dlv_1t', 9_500]])
  assert.equal((await db.arrays(sql`SELECT id FROM gh_deliveries`)).length, 1)
})

eachMigrated('two statements find all registrations with waiting deliveries', async (db) => {
  await addWaiting(db, [1, 2, 3], null)
  await db.write((tx) => tx.run(sql`UPDATE gh_webhooks SET active = 0 WHERE no = 2`))
  let count = 0
  const arrays: Database['arrays'] = (statement) => {
    count += 1
    return db.arrays(statement)
  }
  const slice = await backlogStore({ ...db, arrays }).readAwaitedSlice(0, 3)
  const endpoint = { scope: 10, dueAt: 7_000, hasBacklog: true }
  const endpoints = [1, 3].map((no) => ({ no, ...endpoint }))
  assert.deepEqual([slice, count], [{ endpoints, next: 3 }, 2])
})

eachMigrated('doctor finds deliveries that wait for a missing registration', async (db) => {
  await db.write((tx) =>
    tx.run(sql`INSERT INTO gh_events
      (scope, id, type, shape, object, created, waits_for, waiting_id, waiting_version)
      VALUES (10, 'evt_1', 'a.b', 'v1', '{}', 0, 7, 'dlv_1t', 'v1')`),
  )
  const { lacking } = await checkReferences(db, async () => {})
  assert.deepEqual(lacking.get('registration'), { count: 1, ids: ['dlv_1t'] })
})

eachMigrated('both databases merge rows and waiting deliveries along indexes', async (db) => {
  const own = ['webhook_no = 1', 'scope = 10', "scope = 10 AND id = 'dlv_1'"]
  for (const condition of [...own, "id > 'dlv_1'", '1 = 1']) {
    const query = `SELECT id, state, attempts FROM ${ROWS_AND_WAITING} AS d
      WHERE ${condition} ORDER BY id DESC LIMIT 20`
    const plan = await db.write(async (tx) => {
      if (db.name === 'postgres') await tx.run(sql`SET LOCAL enable_seqscan = off`)
      return db.name === 'postgres'
        ? tx.arrays(sql`EXPLAIN ${raw(query)}`)
        : tx.arrays(sql`EXPLAIN QUERY PLAN ${raw(query)}`)
    })
    const text = plan.map((row) => row.join(' ')).join('\n')
    assert.doesNotMatch(text, /Sort {2}|TEMP B-TREE|Subquery Scan/, `${condition}\n${text}`)
    assert.match(text, /gh_events\S*(_waits_for|_waiting|_scope_waiting)/, text)
  }
})
