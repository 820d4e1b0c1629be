/** §9.14: a replay runs in the background at the customer's rate, and can be stopped. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, openService, type TestApp } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, pay, register, replayed } from '../webhooks/hook.ts'

const start = '2020-01-01T00:00:00Z'
const env = (rate: string) => ({ env: { ...LOCAL.env, GATEHOOK_DELIVERY_RATE: rate } })
const QUICK = env('100000/1')
/** One delivery in 100 s: a replay keeps running. */
const SLOW = env('1/100')

/** Concurrent requests that a loaded server accepts. */
const AT_ONCE = 20

async function payMany(service: TestApp, count: number): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => from + n)
    const replies = await Promise.all(some.map((n) => pay(service, n)))
    for (const { status, text } of replies) assert.equal(status, 201, text)
  }
}

const failAll = (service: TestApp) => {
  const text = "UPDATE gh_deliveries SET state = 'failed'"
  return service.app.db.write((tx) => tx.run({ sql: text, text, values: [] }))
}

const total = async (service: TestApp, id: string, query = '') =>
  Number(
    (await service.get(`/webhooks/${id}/deliveries?pagination=page${query}`)).headers[
      'x-total-count'
    ],
  )

eachService(
  'each delivery is queued once, and the registration returns the progress',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { api_version: 'v1' })).body
    await service.patch(`/webhooks/${id}`, { active: false, events: ['payment.succeeded'] })
    await payMany(service, 603)
    await failAll(service)
    await service.app.work()
    const recovered = await service.post(`/webhooks/${id}/recover`, { since: start })
    assert.deepEqual([recovered.status, recovered.body], [202, { count: 603 }])
    const { replay } = await replayed(service, id)
    const { started_at, ended_at, ...rest } = replay
    assert.deepEqual(rest, {
      kind: 'recover',
      state: 'finished',
      count: 603,
      done: 603,
      since: '2020-01-01T00:00:00.000Z',
    })
    assert.ok(started_at <= ended_at)
    assert.equal(await total(service, id, '&state=paused'), 603)
    await failAll(service)
    const again = await service.post(`/webhooks/${id}/replay`, { since: start })
    assert.deepEqual(again.body, { count: 603 })
    assert.equal((await replayed(service, id)).replay.done, 603)
    assert.equal(await total(service, id, '&state=paused'), 603)
  },
  QUICK,
)

eachService(
  'a second replay is 409 until the first is stopped; queued deliveries stay queued',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['payment.succeeded'] })).body
    await payMany(service, 5)
    await failAll(service)
    await service.app.work()
    assert.deepEqual((await service.get(`/webhooks/${id}`)).body.replay, null)
    const first = await service.post(`/webhooks/${id}/replay`, { since: start })
    assert.deepEqual([first.status, first.body], [202, { count: 5 }])
    for (const operation of ['replay', 'recover']) {
      const second = await service.post(`/webhooks/${id}/${operation}`, { since: start })
      assert.deepEqual([second.status, second.body.error], [409, 'replay_in_progress'])
    }
    const running = (await service.get(`/webhooks/${id}`)).body.replay
    assert.deepEqual([running.state, running.count, running.ended_at], ['running', 5, null])
    assert.equal((await service.delete(`/webhooks/${id}/replay`)).status, 204)
    const stopped = (await service.get(`/webhooks/${id}`)).body.replay
    assert.equal(stopped.state, 'stopped')
    assert.ok(stopped.done <= 1)
    assert.equal((await service.delete(`/webhooks/${id}/replay`)).status, 204)
    assert.equal((await service.delete('/webhooks/wh_x/replay')).status, 404)
    const third = await service.post(`/webhooks/${id}/recover`, { since: start })
    assert.equal(third.status, 202)
    const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const { data } = (await operator.get(`/admin/audit?target=${id}`)).body
    assert.deepEqual(
      data.map(({ action }: { action: string }) => action),
      ['webhook.create', 'webhook.replay', 'webhook.stop_replay', 'webhook.recover'],
    )
  },
  SLOW,
)

eachService(
  'the replays of one customer share its rate',
  async (service, t) => {
    const hook = await openHook(t)
    const responses = await Promise.all([1, 2, 3].map(() => register(service, hook)))
    const all = responses.map(({ body }) => body.id as string)
    for (const id of all) await service.patch(`/webhooks/${id}`, { active: false })
    await payMany(service, 60)
    await failAll(service)
    await service.app.work()
    const startMs = performance.now()
    for (const id of all) await service.post(`/webhooks/${id}/replay`, { since: start })
    for (const id of all) assert.equal((await replayed(service, id)).replay.done, 60)
    // 180 deliveries at 100 a second; the first batch starts at once.
    const tookMs = performance.now() - startMs
    assert.ok(tookMs >= 1_300, String(tookMs))
  },
  env('100/1'),
)

eachService(
  'a replay of nothing stores no job, and replays behind another one store one',
  async (service, t) => {
    const hook = await openHook(t)
    const responses = await Promise.all([1, 2, 3, 4].map(() => register(service, hook)))
    const all = responses.map(({ body }) => body.id as string)
    const countJobs = async () => {
      const text = "SELECT COUNT(*) AS n FROM gh_jobs WHERE kind = 'replay'"
      return Number((await service.app.db.all({ sql: text, text, values: [] }))[0]!.n)
    }
    for (const id of all) await service.patch(`/webhooks/${id}`, { active: false })
    await service.post(`/webhooks/${all[0]}/replay`, { since: start })
    assert.equal(await countJobs(), 0)
    await payMany(service, 5)
    for (const id of all) await service.post(`/webhooks/${id}/replay`, { since: start })
    assert.ok((await countJobs()) <= 2, 'one that runs, and one that waits')
    for (const id of all) await service.delete(`/webhooks/${id}/replay`)
  },
  SLOW,
)

eachService(
  'another process continues the replays of a process that ended',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['payment.succeeded'] })).body
    await service.patch(`/webhooks/${id}`, { active: false })
    await payMany(service, 40)
    await failAll(service)
    await service.app.work()
    await service.post(`/webhooks/${id}/replay`, { since: start })
    while ((await service.get(`/webhooks/${id}`)).body.replay.done === 0) await breath()
    // Simulates a killed process: the counter of its job stops.
    const text = "UPDATE gh_jobs SET state = 'running', node = 'another node'"
    await service.app.db.write((tx) => tx.run({ sql: text, text, values: [] }))
    const next = await openService(t, service.app.db.name, { ...QUICK, url: service.url })
    await next.app.work()
    const { replay } = await replayed(service, id)
    assert.deepEqual([replay.state, replay.done], ['finished', 40])
    assert.equal(await total(service, id, '&state=paused'), 40)
  },
  env('4/1'),
)

eachService(
  'deleting a registration stops its replay',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['payment.succeeded'] })).body
    await payMany(service, 5)
    await failAll(service)
    await service.app.work()
    await service.post(`/webhooks/${id}/replay`, { since: start })
    await service.delete(`/webhooks/${id}`)
    const text = 'SELECT outcome FROM gh_webhook_replays'
    for (;;) {
      const [row] = await service.app.db.all({ sql: text, text, values: [] })
      if (row!.outcome === 'stopped') return
      await breath()
    }
  },
  SLOW,
)
