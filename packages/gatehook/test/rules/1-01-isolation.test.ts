/** §1.1: data of two customers, and of two modes, is isolated on every path. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { createCustomer } from '../../src/identity/access/customers.ts'

const ada = { name: 'Ada', email: 'ada@example.com' }

/** Returns pairs of isolated callers: of two customers, and of two modes of one customer. */
async function openPairs({ app, key, as }: TestApp): Promise<[string, Caller, Caller][]> {
  const actor = { kind: 'test', id: 'test' } as never
  const other = await createCustomer(app.administration, { name: 'Other' }, actor)
  const [owner, otherCustomer, live] = [
    as(await key()),
    as(await key({ customer: other.id })),
    as(await key({ mode: 'live' })),
  ]
  return [
    ['another customer', owner, otherCustomer],
    ['another mode', as(await key()), live],
  ]
}

async function fill(caller: Caller, email: string) {
  const user = (await caller.post('/api/v2/users', { ...ada, email })).body
  const order = (await caller.post('/api/v2/orders', { user_id: user.id, amount: 5 })).body
  assert.ok(order.id, 'the owner creates an order')
  return { user, order }
}

eachService('by id, every method and action is 404 for other callers', async (service) => {
  for (const [pair, owner, other] of await openPairs(service)) {
    const { user, order } = await fill(owner, `${pair.replace(' ', '')}@example.com`)
    const [event] = (await owner.get('/events')).body.data
    const requests: [string, string, unknown?][] = [
      ['GET', `/api/v2/users/${user.id}`],
      ['HEAD', `/api/v2/users/${user.id}`],
      ['PATCH', `/api/v2/users/${user.id}`, { name: 'Eve' }],
      ['DELETE', `/api/v2/users/${user.id}`],
      ['GET', `/api/v1/orders/${order.id}`],
      ['PATCH', `/api/v1/orders/${order.id}`, { amount: 6 }],
      ...['pay', 'ship', 'deliver', 'cancel'].map((action): [string, string] => [
        'POST',
        `/api/v2/orders/${order.id}/${action}`,
      ]),
      ['GET', `/events/${event.id}`],
    ]
    for (const [method, path, body] of requests) {
      assert.equal((await other.send(method, path, body)).status, 404, `${pair}: ${method} ${path}`)
    }
    assert.deepEqual((await owner.get(`/api/v2/orders/${order.id}`)).body, order)
    assert.deepEqual((await owner.get(`/api/v2/users/${user.id}`)).body, user)
  }
})

eachService('lists, totals and events contain own rows only, in every style', async (service) => {
  for (const [pair, owner, other] of await openPairs(service)) {
    const { user } = await fill(owner, `${pair.replace(' ', '')}@example.com`)
    const ownTotal = Number(
      (await owner.get('/api/v2/users?pagination=page')).headers['x-total-count'],
    )
    assert.ok(ownTotal > 0)
    for (const collection of ['/api/v2/users', '/api/v2/orders', '/events']) {
      for (const style of ['cursor', 'offset', 'page', 'hypermedia']) {
        const page = await other.get(`${collection}?pagination=${style}`)
        assert.deepEqual(page.body.data, [], `${pair}: ${collection} ${style}`)
        if (style !== 'cursor') assert.equal(page.headers['x-total-count'], '0')
      }
    }
    const keyset = await other.get('/api/v2/users?after_id=0')
    assert.deepEqual(keyset.body.data, [])
    const filtered = await other.get(`/api/v2/orders?user_id=${user.id}&pagination=page`)
    assert.equal(filtered.body.total, 0)
  }
})

eachService('a reference to a row of others has the error of an unknown row', async (service) => {
  for (const [pair, owner, other] of await openPairs(service)) {
    const { user } = await fill(owner, `${pair.replace(' ', '')}@example.com`)
    const foreign = await other.post('/api/v2/orders', { user_id: user.id, amount: 1 })
    const unknown = await other.post('/api/v2/orders', { user_id: 999_999, amount: 1 })
    assert.equal(foreign.status, 422, pair)
    const withoutId = ({ body }: Reply) => ({ ...body, request_id: '' })
    assert.deepEqual(withoutId(foreign), withoutId(unknown))
  }
})

eachService(
  'an e-mail address and an idempotency key are unique per customer and mode only',
  async (service) => {
    const headers = { 'idempotency-key': 'one-key' }
    for (const [pair, owner, other] of await openPairs(service)) {
      const body = { name: 'Ada', email: `${pair.replace(' ', '')}@example.com` }
      const first = await owner.post('/api/v2/users', body, headers)
      assert.equal(first.status, 201)
      const second = await other.post('/api/v2/users', body, headers)
      assert.equal(second.status, 201, pair)
      assert.equal(second.headers['idempotent-replayed'], undefined)
      assert.notEqual(second.body.id, first.body.id)
      await other.delete(`/api/v2/users/${second.body.id}`)
      await owner.delete(`/api/v2/users/${first.body.id}`)
      headers['idempotency-key'] = 'another-key'
    }
  },
)

eachService('a cursor of another customer or mode is 400 cursor_mismatch', async (service) => {
  for (const [pair, owner, other] of await openPairs(service)) {
    for (const n of [1, 2]) await fill(owner, `${pair.replace(' ', '')}${n}@example.com`)
    for (const collection of ['/api/v2/users', '/events']) {
      const { next_cursor } = (await owner.get(`${collection}?limit=1`)).body
      const rejected = await other.get(`${collection}?limit=1&cursor=${next_cursor}`)
      assert.equal(rejected.body.error, 'cursor_mismatch', `${pair}: ${collection}`)
    }
  }
})
