/**
 * §13: `/admin/events` lists the events of all customers with their object, the request that caused
 * them and totals of their deliveries; one event has its deliveries and its body in each version.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { nextReasonOf } from '../../src/outbound/webhooks/next-attempt.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { finishedLog, type Hook, LOCAL, openHook, register } from '../webhooks/hook.ts'

const OPTIONS = { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '1,86400' } }

interface Customers {
  readonly admin: Caller
  readonly shop: { readonly id: string; readonly own: Caller }
  readonly other: { readonly id: string; readonly own: Caller }
}

async function openCustomers({ as, key }: TestApp): Promise<Customers> {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const open = async (name: string, mode: 'live' | 'test') => {
    const { id } = (await admin.post('/admin/customers', { name })).body
    return { id, own: as(await key({ customer: id, mode })) }
  }
  return { admin, shop: await open('Shop', 'live'), other: await open('Other', 'test') }
}

const person = (name: string) => ({ name, email: `${name}@example.com` })

eachService('events are listed by customer, type, object, request and time', async (service) => {
  const { admin, shop, other } = await openCustomers(service)
  const before = new Date().toISOString()
  const headers = { 'x-request-id': 'call-1' }
  const ann = (await shop.own.post('/api/v2/users', person('ann'), headers)).body
  await shop.own.patch(`/api/v2/users/${ann.id}`, { name: 'Eve' })
  await other.own.post('/api/v2/users', person('bea'))
  const { body } = await admin.get('/admin/events?sort=-id')
  assert.deepEqual(
    body.data.map((event: { type: string; customer: string }) => [event.type, event.customer]),
    [
      ['user.created', other.id],
      ['user.updated', shop.id],
      ['user.created', shop.id],
    ],
  )
  const created = body.data[2]
  assert.deepEqual(
    { ...created, id: undefined, created: undefined },
    {
      id: undefined,
      type: 'user.created',
      created: undefined,
      livemode: true,
      data: { object: ann },
      customer: shop.id,
      customer_name: 'Shop',
      mode: 'live',
      object: `users/${ann.id}`,
      request_id: 'call-1',
      deliveries: { total: 0, delivered: 0, pending: 0, failed: 0, paused: 0 },
    },
  )
  const count = async (query: string) => {
    const reply = await admin.get(`/admin/events?${query}`)
    assert.equal(reply.status, 200, `${query}: ${reply.text}`)
    return reply.body.data.length
  }
  const counts: readonly (readonly [query: string, count: number])[] = [
    [`customer=${shop.id}`, 2],
    [`customer=${shop.id}&mode=test`, 0],
    ['mode=test', 1],
    ['type=user.created', 2],
    ['type=user.*&sort=-id', 3],
    ['type=*', 3],
    ['type=user.updated,order.*', 1],
    ['type=order.*', 0],
    [`object=users/${ann.id}`, 2],
    [`object=users/${ann.id}&customer=${shop.id}&type=user.created`, 1],
    [`object=users/${ann.id}&customer=${other.id}&mode=test`, 0],
    ['object=orders/1', 0],
    ['request_id=call-1', 1],
    [`customer=${shop.id}&request_id=call-1`, 1],
    ['request_id=call-2', 0],
    [`from=${before}`, 3],
    ['to=2020-01-01', 0],
    [`customer=${shop.id}&from=${before}&sort=-id`, 2],
    [`customer=${shop.id}&to=2020-01-01`, 0],
    ['delivery_state=failed', 0],
  ]
  for (const [query, expected] of counts) assert.equal(await count(query), expected, query)
  const first = await admin.get('/admin/events?sort=-id&limit=2&fields=id,deliveries')
  assert.deepEqual(Object.keys(first.body.data[0]), ['id', 'deliveries'])
  const next = await admin.get(
    `/admin/events?sort=-id&limit=2&fields=id,deliveries&cursor=${first.body.next_cursor}`,
  )
  assert.deepEqual(next.body.data[0].id, created.id)
  for (const query of ['object=users', 'object=users/x', 'mode=x', 'customer=x', 'color=red']) {
    assert.equal((await admin.get(`/admin/events?${query}`)).status, 400, query)
  }
})

async function openHooks(t: TestContext, own: Caller): Promise<[Hook, string][]> {
  const hooks: [Hook, string][] = []
  for (let n = 0; n < 3; n++) {
    const hook = await openHook(t)
    const { body } = await register(own, hook, { api_version: n === 0 ? 'v1' : 'v2' })
    hooks.push([hook, body.id])
  }
  return hooks
}

eachService(
  'an event counts its deliveries by state, and expands them with their attempts',
  async (service, t) => {
    const { admin, shop } = await openCustomers(service)
    const [accepts, fails, paused] = (await openHooks(t, shop.own)) as [
      [Hook, string],
      [Hook, string],
      [Hook, string],
    ]
    fails[0].answers = (type) => (type === 'webhook.ping' ? 200 : 500)
    await shop.own.patch(`/webhooks/${paused[1]}`, { active: false })
    await service.app.work()
    await shop.own.post('/api/v2/users', person('ann'))
    await finishedLog(shop.own, accepts[1])
    await fails[0].until(3)
    const list = async (state: string) => {
      const { body } = await admin.get(`/admin/events?delivery_state=${state}&type=user.created`)
      return body.data.length
    }
    const counts = [await list('delivered'), await list('pending'), await list('paused')]
    assert.deepEqual([...counts, await list('failed')], [1, 1, 1, 0])
    const { body: page } = await admin.get('/admin/events?type=user.created')
    const [{ id, deliveries }] = page.data
    const totals = { total: 3, delivered: 1, pending: 1, failed: 0, paused: 1 }
    assert.deepEqual(deliveries, totals)
    const { body } = await admin.get(`/admin/events/${id}?expand=deliveries`)
    const { data, named_by, ...rest } = body.deliveries
    assert.deepEqual(rest, totals)
    assert.equal(named_by.length, 3)
    const byWebhook = new Map(
      data.map((delivery: { webhook_id: string }) => [delivery.webhook_id, delivery]),
      // biome-ignore lint/suspicious/noExplicitAny: tests read any member of a response
    ) as Map<string, any>
    const failing = byWebhook.get(fails[1])
    assert.deepEqual(
      [failing.state, failing.next_reason, failing.attempts.at(-1).response_body],
      ['pending', 'schedule', 'seen'],
    )
    assert.equal(byWebhook.get(paused[1]).next_reason, 'paused')
    const accepted = byWebhook.get(accepts[1])
    assert.deepEqual(
      [accepted.state, accepted.next_reason, accepted.api_version, accepted.url],
      ['delivered', null, 'v1', accepts[0].url],
    )
    assert.equal((await admin.get(`/admin/events/${id}`)).body.deliveries.data, undefined)
    assert.equal((await admin.get(`/admin/events/${id}?expand=x`)).status, 400)
    const v1 = await admin.get(`/admin/events/${id}/payload?version=v1`)
    assert.deepEqual(v1.body, accepts[0].calls.at(-1)!.event)
    const newest = await admin.get(`/admin/events/${id}/payload`)
    assert.deepEqual(newest.body.data, body.data)
    assert.equal((await admin.get(`/admin/events/${id}/payload?version=v9`)).status, 400)
    await service.app.db.write((tx) => tx.run(sql`DELETE FROM gh_events WHERE id = ${id}`))
    const purged = (await admin.get(`/admin/events/${id}?expand=deliveries`)).body
    assert.deepEqual(
      [purged.data, purged.type, purged.deliveries.data.length, purged.customer],
      [null, 'user.created', 3, shop.id],
    )
    assert.equal((await admin.get(`/admin/events/${id}/payload`)).status, 404)
    for (const unknown of ['evt_none', 'x', 'evt_%27']) {
      assert.equal((await admin.get(`/admin/events/${unknown}`)).status, 404, unknown)
    }
  },
  OPTIONS,
)

eachService('the reason of the next attempt follows from stored facts', async () => {
  const now = Date.UTC(2026, 0, 1)
  const attempt = {
    n: 1,
    at: new Date(now).toISOString(),
    status: 500 as number | null,
    duration_ms: 5,
    error: 'x',
    response_headers: null as Record<string, string> | null,
    response_body: null,
  }
  const endpoint = { hold_until: null, breaker: 'closed', breaker_until: null }
  const pending = { state: 'pending', attempts: [attempt] }
  assert.equal(nextReasonOf(pending, endpoint, now), 'schedule')
  assert.equal(nextReasonOf({ ...pending, attempts: [] }, endpoint, now), null)
  assert.equal(nextReasonOf({ ...pending, state: 'delivered' }, endpoint, now), null)
  assert.equal(nextReasonOf({ ...pending, state: 'paused' }, endpoint, now), 'paused')
  assert.equal(nextReasonOf(pending, { ...endpoint, hold_until: now + 1 }, now), 'hold')
  const open = { ...endpoint, breaker: 'open', breaker_until: now + 1 }
  assert.equal(nextReasonOf(pending, open, now), 'breaker')
  assert.equal(nextReasonOf(pending, { ...open, breaker_until: now }, now), 'schedule')
  const busy = { ...pending, attempts: [{ ...attempt, status: 429 }] }
  assert.equal(nextReasonOf(busy, endpoint, now), 'retry_after')
  const delayed = { ...attempt, response_headers: { 'retry-after': '5' } }
  assert.equal(nextReasonOf({ ...pending, attempts: [delayed] }, endpoint, now), 'retry_after')
})
