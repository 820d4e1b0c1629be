/** §6.7, §9.14: a person registers for types that it may read, and reads their deliveries. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

const own = ['webhooks:read', 'webhooks:write', 'events:read', 'users:read', 'orders:read']

/** Returns a caller for a person with the given scopes. */
async function personOf(
  service: TestApp,
  name: string,
  scopes: readonly string[],
): Promise<Caller> {
  const { createPerson, token, anonymous } = await openPeople(service)
  await createPerson(name, { scopes })
  const sent = bearerOf(await token(emailOf(name)))
  return {
    send: (method, path, body, headers) =>
      anonymous.send(method, path, body, { ...sent, ...headers }),
    get: (path, headers) => anonymous.get(path, { ...sent, ...headers }),
    post: (path, body, headers) => anonymous.post(path, body, { ...sent, ...headers }),
    patch: (path, body, headers) => anonymous.patch(path, body, { ...sent, ...headers }),
    put: (path, body, headers) => anonymous.put(path, body, { ...sent, ...headers }),
    delete: (path, headers) => anonymous.delete(path, { ...sent, ...headers }),
  }
}

const ids = (reply: { body: { data: { id: string }[] } }) => reply.body.data.map(({ id }) => id)

eachService(
  'a person registers for readable types only; account scopes act for the customer',
  async (service, t) => {
    const hook = await openHook(t)
    const [ada, bob] = [
      await personOf(service, 'ada', own),
      await personOf(service, 'bob', [...own, 'orders:all', 'users:all']),
    ]
    for (const [type, scope] of [
      ['order.paid', 'orders:all'],
      ['user.created', 'users:all'],
      ['key.created', 'keys:read'],
    ] as const) {
      const refused = await register(ada, hook, { events: [type] })
      assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
      assert.ok(refused.body.message.includes(scope), refused.body.message)
    }
    assert.equal(hook.calls.length, 0)
    const mine = (await register(ada, hook, { events: ['*'] })).body
    assert.deepEqual(mine.scopes, ['events:read', 'webhooks:read'])
    const orders = (await register(bob, hook, { events: ['order.*', 'user.created'] })).body
    const all = (await register(service, hook, { events: ['*'] })).body
    for (const who of [service, ada, bob]) {
      assert.deepEqual(ids(await who.get('/webhooks')), [mine.id, orders.id, all.id])
    }
    assert.equal((await ada.patch(`/webhooks/${mine.id}`, { events: ['order.paid'] })).status, 403)
    assert.equal((await ada.post(`/webhooks/${all.id}/rotate-secret`)).status, 403)
    const test = await ada.post(`/webhooks/${mine.id}/test`, { event_type: 'order.paid' })
    assert.equal(test.body.error, 'insufficient_scope')
  },
  LOCAL,
)

eachService(
  'a person reads deliveries of readable types only',
  async (service, t) => {
    const hook = await openHook(t)
    const ada = await personOf(service, 'ada', own)
    const { id } = (await register(service, hook, { events: ['*'] })).body
    await service.post('/events', { type: 'payment.succeeded', object: { id: 1 } })
    await service.post('/api/v2/users', { name: 'Eve', email: 'eve@example.com' })
    const [payment, user] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    assert.deepEqual(ids(await ada.get(`/webhooks/${id}/deliveries`)), [payment.id])
    assert.equal((await ada.get(`/deliveries/${payment.id}`)).status, 200)
    assert.equal((await ada.get(`/deliveries/${user.id}`)).status, 404)
    assert.equal((await ada.post(`/deliveries/${user.id}/resend`)).status, 404)
  },
  LOCAL,
)
