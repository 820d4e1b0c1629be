/**
 * §6.7 for persons that sign in by Basic and by login: they reach their own rows on every path, and
 * events of collections that they may read completely.
 */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, emailOf, openPeople } from '../people/rig.ts'

/** Returns callers that authenticate a person by Basic and by token. */
async function callersOf(service: TestApp, name: string) {
  const { anonymous, token } = await openPeople(service)
  const bearer = bearerOf(await token(emailOf(name)))
  return [basicOf(emailOf(name)), bearer].map((headers) => ({
    get: (path: string) => anonymous.get(path, headers),
    post: (path: string, body?: unknown) => anonymous.post(path, body, headers),
    patch: (path: string, body: unknown) => anonymous.patch(path, body, headers),
  }))
}

const orderOf = async (service: Caller, user_id: number): Promise<number> =>
  (await service.post('/api/v2/orders', { user_id, amount: 5 })).body.id

const ids = (body: { data: { id: number }[] }) => body.data.map((row) => row.id)

eachService('rows of others are 404, are in no list and no total', async (service) => {
  const { createPerson } = await openPeople(service)
  const [ada, bob] = [await createPerson('ada'), await createPerson('bob')]
  const [mine, theirs] = [await orderOf(service, ada.id), await orderOf(service, bob.id)]
  for (const me of await callersOf(service, 'ada')) {
    for (const version of ['v1', 'v2']) {
      const list = `/api/${version}/orders`
      assert.deepEqual(ids((await me.get(list)).body), [mine])
      assert.equal((await me.get(`${list}?pagination=offset`)).body.total, 1)
      assert.deepEqual(ids((await me.get(`${list}?user_id=${bob.id}`)).body), [])
      assert.equal((await me.get(`${list}/${mine}`)).status, 200)
      assert.equal((await me.get(`${list}/${theirs}`)).status, 404)
      assert.equal((await me.patch(`${list}/${theirs}`, { note: 'x' })).status, 404)
      assert.equal((await me.post(`${list}/${theirs}/pay`)).status, 404)
    }
  }
  const { body } = await service.get(`/api/v2/orders/${theirs}`)
  assert.deepEqual([body.status, body.note], ['pending', null])
})

eachService('a person cannot create or assign a row for another person', async (service) => {
  const { createPerson } = await openPeople(service)
  const [ada, bob] = [await createPerson('ada'), await createPerson('bob')]
  for (const me of await callersOf(service, 'ada')) {
    const createReply = await me.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
    assert.equal(createReply.status, 201)
    const forged = await me.post('/api/v2/orders', { user_id: bob.id, amount: 1 })
    assert.deepEqual([forged.status, forged.body.errors[0].pointer], [422, '/user_id'])
    const given = await me.patch(`/api/v2/orders/${createReply.body.id}`, { user_id: bob.id })
    assert.equal(given.status, 422)
  }
})

eachService('a person reads events of completely readable collections only', async (s) => {
  const { createPerson, login } = await openPeople(s)
  const ada = await createPerson('ada', { scopes: ['users:read', 'users:all', 'events:read'] })
  await orderOf(s, ada.id)
  for (let n = 0; n < 11; n++) await login('eve@example.com', 'wrong')
  const all = (await s.get('/events')).body.data as { id: string; type: string }[]
  assert.deepEqual([...new Set(all.map((event) => event.type))], ['user.created', 'order.created'])
  const hidden = all.find((event) => event.type === 'order.created')!
  for (const me of await callersOf(s, 'ada')) {
    const { body } = await me.get('/events?pagination=offset')
    assert.deepEqual(
      body.data.map((event: { type: string }) => event.type),
      ['user.created'],
    )
    assert.equal(body.total, 1)
    assert.equal((await me.get(`/events/${hidden.id}`)).status, 404)
    assert.deepEqual((await me.get('/events?type=order.created')).body.data, [])
  }
})

eachService(
  '`orders:all` lets a person read all orders of its customer and mode',
  async (service) => {
    const { createPerson } = await openPeople(service)
    const scopes = ['orders:read', 'orders:all', 'events:read']
    const [, bob] = [await createPerson('chief', { scopes }), await createPerson('bob')]
    const theirs = await orderOf(service, bob.id)
    const live = service.as(await service.key({ mode: 'live' }))
    const other = await live.post('/api/v2/users', { name: 'x', email: 'x@example.com' })
    const foreign = await orderOf(live, other.body.id)
    for (const me of await callersOf(service, 'chief')) {
      assert.deepEqual(ids((await me.get('/api/v2/orders')).body), [theirs])
      assert.equal((await me.get(`/api/v2/orders/${foreign}`)).status, 404)
      const types = (await me.get('/events')).body.data.map((event: { type: string }) => event.type)
      assert.ok(types.includes('order.created'))
    }
  },
)
