/** §6.7: registrations, deliveries and events show a person only types it may see whole. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { bearerOf, mailOf, signing } from '../people/rig.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

const own = [
  ...['webhooks:read', 'webhooks:write', 'events:read'],
  ...['users:read', 'users:all', 'orders:read'],
]

/** Calls of a person signed in with these scopes. */
async function personOf(
  service: TestApp,
  name: string,
  scopes: readonly string[],
): Promise<Caller> {
  const { make, token, anybody } = await signing(service)
  await make(name, { scopes })
  const sent = bearerOf(await token(mailOf(name)))
  return {
    send: (method, path, body, headers) =>
      anybody.send(method, path, body, { ...sent, ...headers }),
    get: (path, headers) => anybody.get(path, { ...sent, ...headers }),
    post: (path, body, headers) => anybody.post(path, body, { ...sent, ...headers }),
    patch: (path, body, headers) => anybody.patch(path, body, { ...sent, ...headers }),
    put: (path, body, headers) => anybody.put(path, body, { ...sent, ...headers }),
    delete: (path, headers) => anybody.delete(path, { ...sent, ...headers }),
  }
}

const ids = (reply: { body: { data: { id: string }[] } }) => reply.body.data.map(({ id }) => id)

eachService(
  'a person registers for, and sees, only what it sees whole',
  async (service, t) => {
    const hook = await openHook(t)
    const [ada, bob] = [
      await personOf(service, 'ada', own),
      await personOf(service, 'bob', [...own, 'orders:all']),
    ]
    for (const events of [
      ['*'],
      ['order.paid'],
      ['order.*'],
      ['payment.succeeded'],
      ['webhook.*'],
    ]) {
      const refused = await register(ada, hook, { events })
      assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    }
    assert.equal(hook.calls.length, 0)
    const users = (await register(ada, hook, { events: ['user.*', 'user.created'] })).body.id
    const orders = (await register(bob, hook, { events: ['order.*', 'user.created'] })).body.id
    const all = (await register(service, hook, { events: ['*'] })).body.id
    assert.deepEqual(ids(await service.get('/webhooks')), [users, orders, all])
    assert.deepEqual(ids(await ada.get('/webhooks')), [users])
    assert.deepEqual(ids(await bob.get('/webhooks')), [users, orders])
    assert.equal((await ada.get('/webhooks?pagination=page')).body.total, 1)
    assert.equal((await ada.patch(`/webhooks/${users}`, { events: ['order.paid'] })).status, 403)
    const hidden: [string, string, unknown?][] = [
      ['GET', ''],
      ['PATCH', '', { description: 'mine' }],
      ['DELETE', ''],
      ['POST', '/test', { event_type: 'user.created' }],
      ['POST', '/rotate-secret'],
      ['GET', '/deliveries'],
      ['POST', '/recover', { since: '2020-01-01' }],
      ['POST', '/replay', { since: '2020-01-01' }],
    ]
    for (const [method, path, body] of hidden) {
      const refused = await ada.send(method, `/webhooks/${all}${path}`, body)
      assert.equal(refused.status, 404, `${method} ${path}`)
    }
    const test = await ada.post(`/webhooks/${users}/test`, { event_type: 'order.paid' })
    assert.equal(test.body.error, 'insufficient_scope')
  },
  LOCAL,
)

eachService(
  'of a log a person sees the types it sees whole, whatever was asked for before',
  async (service, t) => {
    const hook = await openHook(t)
    const ada = await personOf(service, 'ada', own)
    const { id } = (await register(service, hook, { events: ['*'] })).body
    await service.post('/events', { type: 'payment.succeeded', object: { id: 1 } })
    await service.post('/api/v2/users', { name: 'Eve', email: 'eve@example.com' })
    assert.equal((await service.patch(`/webhooks/${id}`, { events: ['user.*'] })).status, 200)
    const [payment, user] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    assert.deepEqual(ids(await ada.get(`/webhooks/${id}/deliveries`)), [user.id])
    assert.equal((await ada.get(`/deliveries/${user.id}`)).status, 200)
    assert.equal((await ada.get(`/deliveries/${payment.id}`)).status, 404)
    assert.equal((await ada.post(`/deliveries/${payment.id}/resend`)).status, 404)
  },
  LOCAL,
)
