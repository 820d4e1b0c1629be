/**
 * §13: `/admin/webhooks` and `/admin/deliveries` list the webhooks of all customers, with the
 * health of their endpoints. A page reads no deliveries but those that wait.
 */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { finishedLog, type Hook, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const OPTIONS = { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '1' } }

interface Endpoint {
  readonly customer: string
  readonly own: Caller
  readonly hook: Hook
  readonly id: string
}

interface Customers {
  readonly admin: Caller
  readonly shop: Endpoint
  readonly other: Endpoint
}

/** Creates two customers with an endpoint each, and starts the engine. */
async function openCustomers(t: TestContext, service: TestApp): Promise<Customers> {
  const { as, key, app } = service
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const open = async (name: string, mode: 'live' | 'test'): Promise<Endpoint> => {
    const customer = (await admin.post('/admin/customers', { name })).body.id
    const own = as(await key({ customer, mode }))
    const hook = await openHook(t)
    const { body, status } = await register(own, hook)
    assert.equal(status, 201)
    return { customer, own, hook, id: body.id }
  }
  const shop = await open('Shop', 'live')
  const other = await open('Other', 'test')
  await app.work()
  return { admin, shop, other }
}

/** Returns the health once the engine has stored so many attempts. */
const healthAfter = (admin: Caller, id: string, attempts: number) =>
  eventually(
    async () => (await admin.get(`/admin/webhooks/${id}/health`)).body,
    (body) => body.last60.length >= attempts,
  )

eachService(
  'the list has every registration with its customer, sorted by health',
  async (service, t) => {
    const { admin, shop, other } = await openCustomers(t, service)
    shop.hook.answers = () => 500
    for (let n = 0; n < 3; n++) {
      await pay(shop.own, n)
      await pay(other.own, n)
    }
    await finishedLog(shop.own, shop.id)
    await healthAfter(admin, other.id, 3)
    await healthAfter(admin, shop.id, 6)
    const { body } = await admin.get('/admin/webhooks?sort=-health')
    assert.deepEqual(
      body.data.map((row: { id: string; mode: string; customer: string }) => [row.id, row.mode]),
      [
        [shop.id, 'live'],
        [other.id, 'test'],
      ],
    )
    const [first, second] = body.data
    assert.deepEqual([first.customer, first.customer_name], [shop.customer, 'Shop'])
    assert.deepEqual(first.health, {
      state: 'failing',
      accepted_24h: 0,
      attempts_24h: 6,
      waiting: 0,
      oldest_waiting_at: null,
      last60: 'xxxxxx',
    })
    assert.deepEqual([second.health.state, second.health.accepted_24h], ['healthy', 1])
    assert.match(second.health.last60, /^[ows]{3}$/)
    const filters: readonly (readonly [query: string, ids: readonly string[]])[] = [
      ['state=failing', [shop.id]],
      ['state=off', []],
      ['mode=test', [other.id]],
      [`customer=${shop.customer}`, [shop.id]],
      [`customer=${shop.customer}&mode=test`, []],
      ['version=v2&sort=created_at', [shop.id, other.id]],
      ['version=v1', []],
      ['event=order.paid&sort=created_at', [shop.id, other.id]],
      [`url=${encodeURIComponent(shop.hook.url)}`, [shop.id]],
    ]
    for (const [query, ids] of filters) {
      const reply = await admin.get(`/admin/webhooks?${query}`)
      const { data } = reply.body
      assert.deepEqual(
        data.map((row: { id: string }) => row.id),
        ids,
        `${query}: ${reply.text}`,
      )
    }
    const page = await admin.get('/admin/webhooks?sort=-health&limit=1&fields=id,health&mode=live')
    assert.deepEqual(Object.keys(page.body.data[0]), ['id', 'health'])
    const pages = await admin.get('/admin/webhooks?sort=-health&limit=1')
    const next = await admin.get(
      `/admin/webhooks?sort=-health&limit=1&cursor=${pages.body.next_cursor}`,
    )
    assert.equal(next.body.data[0].id, other.id)
    for (const query of ['state=bad', 'mode=x', 'customer=cus_none', 'event=none', 'color=red']) {
      assert.equal((await admin.get(`/admin/webhooks?${query}`)).status, 400, query)
    }
  },
  OPTIONS,
)

eachService(
  'the health of an endpoint names cause, attempts, secrets and failed deliveries',
  async (service, t) => {
    const { admin, shop } = await openCustomers(t, service)
    const path = `/admin/webhooks/${shop.id}`
    const fresh = (await admin.get(`${path}/health`)).body
    assert.deepEqual([fresh.state, fresh.cause, fresh.attempts], ['new', null, []])
    shop.hook.answers = () => 500
    await pay(shop.own, 1)
    const log = await finishedLog(shop.own, shop.id)
    const body = await healthAfter(admin, shop.id, 2)
    assert.deepEqual(
      body.attempts.map((attempt: Record<string, unknown>) => [
        attempt.delivery_id,
        attempt.n,
        attempt.status,
        attempt.outcome,
      ]),
      [1, 2].map((n) => [log[0].id, n, 500, 'x']),
    )
    assert.equal(body.state, 'some_fail')
    assert.match(body.cause, /500/)
    assert.equal(new Date(body.off_at).getTime() - new Date(body.since).getTime(), 5 * 86_400_000)
    assert.deepEqual(body.failed_since.count, 1)
    assert.deepEqual(body.breaker, { state: 'closed', until: null })
    assert.deepEqual([body.in_flight, body.rules.schedule_s], [0, [1]])
    assert.equal(
      body.p95_ms,
      Math.max(...body.attempts.map((entry: { took_ms: number }) => entry.took_ms)),
    )
    const { secret } = (await shop.own.post(`/webhooks/${shop.id}/rotate-secret`)).body
    const rotated = (await admin.get(`${path}/health?attempts=1`)).body
    assert.equal(rotated.attempts.length, 1)
    assert.deepEqual(
      rotated.secrets.map((entry: { hint: string; signs_until: string | null }) => [
        entry.hint === `whsec_…${secret.slice(-4)}`,
        entry.signs_until === null,
      ]),
      [
        [false, false],
        [true, true],
      ],
    )
    await shop.own.patch(`/webhooks/${shop.id}`, { active: false })
    const off = (await admin.get(path)).body
    assert.deepEqual([off.health.state, off.active], ['off', false])
    assert.equal((await admin.get(`${path}/health`)).body.cause, 'paused')
    shop.hook.answers = () => 200
    const resumed = await shop.own.patch(`/webhooks/${shop.id}`, { active: true })
    assert.equal(resumed.status, 200, resumed.text)
    assert.equal((await admin.get(path)).body.health.state, 'new')
    await pay(shop.own, 2)
    await healthAfter(admin, shop.id, 3)
    const states = async () => (await admin.get(path)).body.health.state
    await eventually(states, (state) => state === 'some_fail')
    for (const query of ['attempts=0', 'attempts=121', 'attempts=x', 'since=1']) {
      assert.equal((await admin.get(`${path}/health?${query}`)).status, 400, query)
    }
    assert.equal((await admin.get('/admin/webhooks/wh_none/health')).status, 404)
    assert.equal((await admin.get('/admin/webhooks/wh_none')).status, 404)
  },
  OPTIONS,
)

eachService(
  'deliveries of all customers are listed by registration, customer, state and time',
  async (service, t) => {
    const { admin, shop, other } = await openCustomers(t, service)
    other.hook.answers = () => 500
    const before = new Date().toISOString()
    await pay(shop.own, 1)
    await finishedLog(shop.own, shop.id)
    await pay(other.own, 2)
    await finishedLog(other.own, other.id)
    const ids = async (query: string) => {
      const reply = await admin.get(`/admin/deliveries?${query}`)
      assert.equal(reply.status, 200, `${query}: ${reply.text}`)
      return reply.body.data.map((row: { webhook_id: string }) => row.webhook_id)
    }
    const filters: readonly (readonly [query: string, ids: readonly string[]])[] = [
      ['sort=-id', [other.id, shop.id]],
      ['sort=id', [shop.id, other.id]],
      [`webhook=${shop.id}`, [shop.id]],
      [`customer=${other.customer}&mode=test`, [other.id]],
      [`customer=${other.customer}`, []],
      ['mode=live', [shop.id]],
      ['state=delivered', [shop.id]],
      ['state=exhausted&sort=-id', [other.id]],
      ['state=failed', []],
      ['state=pending', []],
      [`webhook=${other.id}&state=exhausted`, [other.id]],
      ['event_type=payment.succeeded&sort=id', [shop.id, other.id]],
      ['event_type=order.paid', []],
      [`from=${before}&sort=id`, [shop.id, other.id]],
      [`to=${before}`, []],
      [`customer=${shop.customer}&from=${before}`, [shop.id]],
      [`webhook=${shop.id}&to=${before}`, []],
    ]
    for (const [query, expected] of filters) assert.deepEqual(await ids(query), expected, query)
    const { body } = await admin.get('/admin/deliveries?sort=-id&limit=1')
    const [item] = body.data
    assert.deepEqual(
      [item.customer, item.mode, item.state, item.attempts.length, item.row],
      [other.customer, 'test', 'exhausted', 2, undefined],
    )
    const next = await admin.get(`/admin/deliveries?sort=-id&limit=1&cursor=${body.next_cursor}`)
    assert.equal(next.body.data[0].webhook_id, shop.id)
    await pay(other.own, 3)
    await other.own.patch(`/webhooks/${other.id}`, { active: false })
    assert.deepEqual(await ids('state=paused'), [other.id])
    for (const query of ['state=x', 'from=x', 'webhook=wh_none', 'customer=x', 'color=red']) {
      assert.equal((await admin.get(`/admin/deliveries?${query}`)).status, 400, query)
    }
  },
  OPTIONS,
)

eachService(
  'deliveries of one transaction are each on one page',
  async (service, t) => {
    const { admin, shop } = await openCustomers(t, service)
    for (let n = 0; n < 4; n++) await register(shop.own, await openHook(t))
    await pay(shop.own, 1)
    for (const sort of ['id', '-id']) {
      const ids: string[] = []
      for (let cursor = ''; ; ) {
        const { body } = await admin.get(`/admin/deliveries?sort=${sort}&limit=2${cursor}`)
        ids.push(...body.data.map(({ id }: { id: string }) => id))
        if (!body.has_more) break
        cursor = `&cursor=${body.next_cursor}`
      }
      assert.deepEqual([ids.length, new Set(ids).size], [5, 5], sort)
    }
  },
  OPTIONS,
)

eachService(
  'a delivery of any customer has the headers of each attempt, as sent',
  async (service, t) => {
    const { admin, shop } = await openCustomers(t, service)
    await pay(shop.own, 1)
    const [{ id }] = await finishedLog(shop.own, shop.id)
    const reply = await admin.get(`/admin/deliveries/${id}`)
    assert.deepEqual([reply.body.customer, reply.body.mode], [shop.customer, 'live'])
    const sent = shop.hook.calls.at(-1)!.headers
    const headers = reply.body.attempts[0].request_headers
    assert.ok(headers['webhook-signature'])
    for (const [name, value] of Object.entries(headers)) {
      assert.equal(sent[name.toLowerCase()], value, name)
    }
    await service.app.db.write(async (tx) => {
      await tx.run(sql`DELETE FROM gh_events`)
      await tx.run(sql`DELETE FROM gh_webhooks`)
    })
    const purged = (await admin.get(`/admin/deliveries/${id}`)).body
    assert.deepEqual([purged.webhook_id, purged.state], [null, 'delivered'])
    assert.deepEqual(Object.keys(purged.attempts[0].request_headers), [
      'Content-Type',
      'User-Agent',
      'Gatehook-Event',
      'Gatehook-Delivery',
      'Gatehook-Attempt',
    ])
    assert.equal((await admin.get('/admin/deliveries/dlv_none')).status, 404)
  },
  OPTIONS,
)
