/** §9.1, §9.14: a registration receives, and a caller reads, only what its scopes cover. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { listen } from '../events/listen.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'
import { finishedLog, LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

const user = (name: string) => ({ name, email: emailOf(name) })
const ids = (reply: { body: { data: { id: string }[] } }) => reply.body.data.map(({ id }) => id)
const types = (reply: { body: { data: { type: string }[] } }) =>
  reply.body.data.map(({ type }) => type)
const ACCOUNT = ['webhooks:read', 'webhooks:write', 'events:read']

const keyOf = async (service: TestApp, ...scopes: string[]) =>
  service.as(await service.key({ scopes }))

/** Creates a person with these scopes; returns its id and requests. */
async function personOf(service: TestApp, name: string, scopes: readonly string[]) {
  const { createPerson, token, anonymous } = await openPeople(service)
  const { id } = await createPerson(name, { scopes })
  const sent = bearerOf(await token(emailOf(name)))
  return {
    id: id as number,
    get: (path: string) => anonymous.get(path, sent),
    post: (path: string, body?: unknown) => anonymous.post(path, body, sent),
    patch: (path: string, body: unknown) => anonymous.patch(path, body, sent),
  }
}

eachService(
  'a type that the maker may not read is 403 with the scope, without a connection',
  async (service, t) => {
    const hook = await openHook(t)
    const narrow = await keyOf(service, 'webhooks:write', 'orders:read')
    const refusals: [string, string][] = [
      ['user.created', 'users:read'],
      ['payment.succeeded', 'events:read'],
      ['webhook.disabled', 'webhooks:read'],
      ['api_version.retired', 'webhooks:read'],
      ['key.created', 'keys:read'],
      ['token.reuse_detected', 'keys:read'],
      ['login.throttled', 'keys:read'],
    ]
    for (const [type, scope] of refusals) {
      const refused = await register(narrow, hook, { events: ['order.paid', type] })
      assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'], type)
      assert.ok(refused.body.message.includes(scope), refused.body.message)
    }
    assert.equal(hook.calls.length, 0)
    assert.equal((await service.get('/webhooks?pagination=page')).body.total, 0)
    const response = await register(narrow, hook, { events: ['order.paid', '*'] })
    assert.deepEqual([response.status, response.body.scopes], [201, ['orders:read']])
  },
  LOCAL,
)

eachService(
  '`*` delivers the types that the registration’s scopes cover',
  async (service, t) => {
    const hook = await openHook(t)
    const narrow = await keyOf(service, 'webhooks:write', 'orders:read')
    const { id } = (await register(narrow, hook, { events: ['*'] })).body
    const ada = (await service.post('/api/v2/users', user('ada'))).body
    await pay(service, 1)
    await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
    const { data } = (await service.get(`/webhooks/${id}/deliveries`)).body
    assert.deepEqual(
      data.map(({ event_type }: { event_type: string }) => event_type),
      ['order.created'],
    )
  },
  LOCAL,
)

eachService(
  'lists, single reads and the stream have the types that the caller may read',
  async (service, t) => {
    const narrow = await service.key({ scopes: ['events:read', 'orders:read'] })
    const reader = service.as(narrow)
    const ada = (await service.post('/api/v2/users', user('ada'))).body
    await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
    await pay(service, 1)
    const all = await service.get('/events')
    assert.deepEqual(types(all), ['user.created', 'order.created', 'payment.succeeded'])
    assert.deepEqual(types(await reader.get('/events')), ['order.created', 'payment.succeeded'])
    const page = await reader.get('/events?pagination=page')
    assert.equal(page.body.total, 2)
    const [hidden, readable] = ids(all)
    assert.equal((await reader.get(`/events/${hidden}`)).status, 404)
    assert.equal((await reader.get(`/events/${readable}`)).status, 200)
    const cursor = (await service.get('/events?limit=1')).body.next_cursor
    const mixed = await reader.get(`/events?limit=1&cursor=${cursor}`)
    assert.equal(mixed.body.error, 'cursor_mismatch')

    const { url } = await service.app.listen()
    const stream = await listen(t, url, narrow, { after: hidden! })
    await service.post('/api/v2/users', user('bob'))
    await pay(service, 2)
    const seen = [await stream.next(), await stream.next(), await stream.next()]
    assert.deepEqual(
      seen.map((message) => message!.event.type),
      ['order.created', 'payment.succeeded', 'payment.succeeded'],
    )
  },
)

eachService(
  'a person reads types of collections without an owner, or with `<collection>:all`',
  async (service) => {
    const ada = await personOf(service, 'ada', [...ACCOUNT, 'users:read', 'orders:read'])
    const bob = await personOf(service, 'bob', [...ACCOUNT, 'orders:all'])
    await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
    await pay(service, 1)
    const recorded = (await ada.get('/events')).body.data.map(({ type }: { type: string }) => type)
    assert.deepEqual([...new Set(recorded)], ['payment.succeeded'])
    const wider = new Set(types(await bob.get('/events')))
    assert.deepEqual([...wider], ['order.created', 'payment.succeeded'])
  },
)

eachService(
  'log, resend, replay and recover apply to the caller’s readable types only',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['*'] })).body
    await service.patch(`/webhooks/${id}`, { active: false })
    await service.post('/api/v2/users', user('ada'))
    await pay(service, 1)
    const [created, payment] = (await service.get(`/webhooks/${id}/deliveries`)).body.data
    const narrow = await keyOf(service, ...ACCOUNT)
    assert.deepEqual(ids(await narrow.get(`/webhooks/${id}/deliveries`)), [payment.id])
    assert.equal((await narrow.get(`/deliveries/${created.id}`)).status, 404)
    assert.equal((await narrow.post(`/deliveries/${created.id}/resend`)).status, 404)
    assert.equal((await narrow.get(`/deliveries/${payment.id}`)).status, 200)
    const refused = await narrow.post(`/webhooks/${id}/replay`, {
      since: '2020-01-01',
      event_types: ['user.created'],
    })
    assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    const text = "UPDATE gh_deliveries SET state = 'failed'"
    await service.app.db.write((tx) => tx.run({ sql: text, text, values: [] }))
    const recovered = await narrow.post(`/webhooks/${id}/recover`, { since: '2020-01-01' })
    assert.deepEqual(recovered.body, { count: 1 })
    const test = await narrow.post(`/webhooks/${id}/test`, { event_type: 'user.created' })
    assert.equal(test.body.error, 'insufficient_scope')
  },
  LOCAL,
)

eachService(
  'a caller without the read scopes cannot move a registration or rotate its secret',
  async (service, t) => {
    const [hook, thief] = [await openHook(t), await openHook(t)]
    const { id } = (await register(service, hook, { events: ['user.*'] })).body
    const narrow = await keyOf(service, 'webhooks:read', 'webhooks:write')
    for (const attempt of [
      narrow.patch(`/webhooks/${id}`, { url: thief.url }),
      narrow.patch(`/webhooks/${id}`, { url: thief.url, events: ['webhook.disabled'] }),
      narrow.patch(`/webhooks/${id}`, { events: ['user.deleted'] }),
      narrow.post(`/webhooks/${id}/rotate-secret`),
    ]) {
      const refused = await attempt
      assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
      assert.ok(refused.body.message.includes('users:read'), refused.body.message)
    }
    assert.equal(thief.calls.length, 0)
    const { body } = await service.get(`/webhooks/${id}`)
    assert.deepEqual([body.url, body.events], [hook.url, ['user.*']])
    const described = await narrow.patch(`/webhooks/${id}`, { description: 'seen' })
    assert.deepEqual([described.status, described.body.scopes], [200, body.scopes])
    // A caller that changes the events becomes the maker.
    const taken = await narrow.patch(`/webhooks/${id}`, { events: ['*'] })
    assert.deepEqual(taken.body.scopes, ['webhooks:read'])
    await service.post('/api/v2/users', user('ada'))
    assert.deepEqual(ids(await service.get(`/webhooks/${id}/deliveries`)), [])
  },
  LOCAL,
)

eachService(
  'a delivery from before its registration lost a scope fails without an attempt',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook, { events: ['*'] })).body
    await service.patch(`/webhooks/${id}`, { active: false })
    await service.post('/api/v2/users', user('ada'))
    await pay(service, 1)
    const narrow = await keyOf(service, 'webhooks:read', 'webhooks:write', 'events:read')
    const events = ['payment.succeeded', 'webhook.*']
    assert.equal((await narrow.patch(`/webhooks/${id}`, { events, active: true })).status, 200)
    await service.app.work()
    const log = await finishedLog(service, id)
    assert.deepEqual(
      log.map(({ event_type, state, attempts }) => [event_type, state, attempts.length]),
      [
        ['user.created', 'failed', 0],
        ['payment.succeeded', 'delivered', 1],
      ],
    )
    assert.ok(hook.calls.every(({ event }) => event.type !== 'user.created'))
    const again = await service.post(`/deliveries/${log[0].id}/resend`)
    assert.deepEqual([again.status, again.body.error], [409, 'invalid_state'])
  },
  LOCAL,
)
