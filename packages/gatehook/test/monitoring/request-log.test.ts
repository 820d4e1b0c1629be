/** The request log over a whole app, on both databases. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { eachService, openService, type Reply } from '../../../../test/rig/service.ts'
import { service as declareService, f, resource } from '../../src/gatehook.ts'
import { inFrontOf, openUpstream, replyJson } from '../forwards/upstream-rig.ts'
import { openPortal } from '../portal/rig.ts'
import { adminOf, requestIdOf } from './admin.ts'

eachService('a request is in the list with its caller, object and version', async (service) => {
  const admin = await adminOf(service)
  const created = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const list = await admin.get(`/admin/requests?id=${requestIdOf(created)}`)
  assert.equal(list.status, 200, list.text)
  const [item] = list.body.data
  assert.equal(list.body.data.length, 1)
  assert.equal(item.method, 'POST')
  assert.equal(item.path, '/api/v2/users')
  assert.equal(item.route, '/api/users')
  assert.equal(item.status, 201)
  assert.equal(item.error, null)
  assert.equal(item.object, `users/${created.body.id}`)
  assert.equal(item.version, 'v2')
  assert.equal(item.mode, 'test')
  assert.equal(item.credential.kind, 'key')
  assert.match(item.credential.hint, /^gk_test_…/)
})

eachService('a request of an operator for a customer names its row', async (service) => {
  const admin = await adminOf(service)
  const path = '/admin/as/default/test/api/v2/users'
  const created = await admin.post(path, { name: 'Ada', email: 'ada@example.com' })
  const { id } = created.body
  await admin.patch(`${path}/${id}`, { name: 'Ann' })
  const { body } = await admin.get(`/admin/requests?object=users/${id}`)
  const methods = body.data.map(({ method }: { method: string }) => method)
  assert.deepEqual(methods, ['PATCH', 'POST'])
})

eachService('gates are the pipeline steps, and one refused the request', async (service) => {
  const admin = await adminOf(service)
  const reader = service.as(await service.key({ scopes: ['orders:read'] }))
  const refused = await reader.post('/api/v2/users', { name: 'Eve' })
  const { body } = await admin.get(`/admin/requests/${requestIdOf(refused)}`)
  const outcomes = Object.fromEntries(
    body.gates.map((gate: { step: string; outcome: string }) => [gate.step, gate.outcome]),
  )
  assert.equal(outcomes.authenticate, 'passed')
  assert.equal(outcomes.authorize, 'refused')
  assert.equal(outcomes.body, 'not_reached')
  assert.deepEqual(
    body.gates.filter((gate: { outcome: string }) => gate.outcome === 'refused').length,
    1,
  )
  assert.match(body.answer.body.message, /users:write/)
})

eachService('a rejected request has help, and the scope that it lacks', async (service) => {
  const admin = await adminOf(service)
  const reader = service.as(await service.key({ scopes: ['orders:read'] }))
  const detailOf = async (reply: { headers: Record<string, string> }) =>
    (await admin.get(`/admin/requests/${requestIdOf(reply)}`)).body
  const rejected = await detailOf(await reader.post('/api/v2/users', { name: 'Eve' }))
  const gate = rejected.gates.find((row: { outcome: string }) => row.outcome === 'refused')
  assert.equal(gate.facts.scope, 'users:write')
  assert.equal(rejected.help.actions[0], 'add_scope')
  assert.match(rejected.help.text, /scope/)
  assert.equal((await detailOf(await reader.get('/api/v2/orders'))).help, null)
})

eachService('a body that fails validation is stored without its secrets', async (service) => {
  const admin = await adminOf(service)
  const failed = await service.post('/api/v2/users?api_key=gk_test_abc', {
    name: 7,
    password: 'correct horse',
    nested: { client_secret: 'whsec_abcdef', note: 'gk_live_0123456789 was sent' },
  })
  assert.ok(failed.status >= 400)
  const { body, text } = await admin.get(`/admin/requests/${requestIdOf(failed)}`)
  for (const secret of ['correct horse', 'abcdef', '0123456789', 'gk_test_abc']) {
    assert.ok(!text.includes(secret), secret)
  }
  assert.equal(body.headers['x-api-key'], '[redacted]')
})

eachService(
  'the value of a member that the response calls unknown is not stored',
  async (service) => {
    const admin = await adminOf(service)
    const misspelled = { pasword: 'correct horse', 'pass/~word': { deep: 'battery staple' } }
    const manyUnknown = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`unknown${n}`, 'correct horse']),
    )
    const requests: [path: string, body: unknown, status: number][] = [
      ['/admin/users', { email: 'ada@example.com', ...misspelled }, 422],
      ['/admin/customers', { name: 'stored text', ...misspelled }, 422],
      ['/api/v2/users', { name: 'stored text', ...misspelled }, 422],
      ['/admin/customers', { name: 'dropped text', ...manyUnknown }, 422],
    ]
    for (const [path, body, status] of requests) {
      const reply = await admin.post(path, body)
      assert.equal(reply.status, status, reply.text)
      const { text } = await admin.get(`/admin/requests/${requestIdOf(reply)}`)
      for (const secret of ['correct horse', 'battery staple', 'dropped text']) {
        assert.ok(!text.includes(secret), `${path}: ${secret}`)
      }
      if (JSON.stringify(body).includes('stored text')) assert.match(text, /stored text/)
    }
  },
)

eachService('requests to /auth are stored without headers and bodies', async (service) => {
  const admin = await adminOf(service)
  const failed = await service.post('/auth/login', { username: 'ada', password: 'wrong' })
  const { body } = await admin.get(`/admin/requests/${requestIdOf(failed)}`)
  assert.equal(body.route, '/auth/login')
  assert.equal(body.headers, null)
  assert.equal(body.body, null)
})

eachService('pages lead from the newest to the oldest request and back', async (service) => {
  const admin = await adminOf(service)
  const sent: string[] = []
  for (let count = 0; count < 7; count++)
    sent.unshift(requestIdOf(await service.get('/api/v2/orders')))
  const filter = 'route=/api/orders&limit=3'
  const idsOf = (reply: { body: { data: { id: string }[] } }) => reply.body.data.map(({ id }) => id)
  const first = await admin.get(`/admin/requests?${filter}`)
  const second = await admin.get(`/admin/requests?${filter}&cursor=${first.body.cursors.next}`)
  const third = await admin.get(`/admin/requests?${filter}&cursor=${second.body.cursors.next}`)
  assert.deepEqual([...idsOf(first), ...idsOf(second), ...idsOf(third)], sent)
  assert.equal(third.body.has_more, false)
  const back = await admin.get(`/admin/requests?${filter}&cursor=${third.body.cursors.prev}`)
  assert.deepEqual(idsOf(back), idsOf(second))
  const foreign = await admin.get(`/admin/requests?limit=3&cursor=${first.body.cursors.next}`)
  assert.equal(foreign.body.error, 'cursor_mismatch')
})

eachService('filters select requests; unknown filters and values are 400', async (service) => {
  const admin = await adminOf(service)
  await service.get('/api/v2/orders')
  await service.get('/api/v2/orders/999')
  const count = async (query: string) => {
    const reply = await admin.get(`/admin/requests?${query}`)
    assert.equal(reply.status, 200, reply.text)
    return reply.body.data.length
  }
  assert.equal(await count('status=404'), 1)
  assert.equal(await count('status=4xx&path=/api/v2/orders'), 1)
  assert.equal(await count('status=2xx,3xx&route=/api/orders'), 1)
  assert.equal(await count('error=not_found&took_ms[gte]=0'), 1)
  assert.equal(await count('object=orders/999&method=GET&mode=test'), 1) // it failed
  assert.equal(await count('ip=192.0.2.1'), 0)
  assert.equal(await count('to=2001-01-01T00:00:00Z'), 0)
  for (const query of [
    'what=1',
    'status=abc',
    'took_ms[in]=1',
    'took_ms=x',
    'limit=0',
    'warnings=1',
  ]) {
    assert.equal((await admin.get(`/admin/requests?${query}`)).status, 400, query)
  }
})

eachService('probes and unknown ids are not in the log', async (service) => {
  const admin = await adminOf(service)
  const probe = await service.get('/healthz')
  assert.equal((await admin.get(`/admin/requests/${requestIdOf(probe)}`)).status, 404)
})

eachService(
  'with GATEHOOK_REQUEST_LOG=errors the log contains failures only',
  async (service) => {
    const admin = await adminOf(service)
    await service.get('/api/v2/orders')
    await service.get('/api/v2/orders/999')
    const { body } = await admin.get('/admin/requests')
    assert.deepEqual(
      body.data.map(({ status }: { status: number }) => status),
      [404],
    )
  },
  { env: { GATEHOOK_REQUEST_LOG: 'errors' } },
)

eachService(
  'with GATEHOOK_REQUEST_LOG=off the log is 404 and names the setting; series remain',
  async (service) => {
    const admin = await adminOf(service)
    const reply = await admin.get('/admin/requests')
    assert.equal(reply.status, 404)
    assert.match(reply.body.message, /GATEHOOK_REQUEST_LOG=all/)
    const series = await admin.get('/admin/series?metric=requests')
    assert.equal(series.body.totals.requests['4xx'], 1)
  },
  { env: { GATEHOOK_REQUEST_LOG: 'off' } },
)

eachService('a request names the events that it caused', async (service) => {
  const admin = await adminOf(service)
  const user = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const order = { user_id: user.body.id, amount: 100, currency: 'EUR' }
  const created = await service.post('/api/v2/orders', order)
  assert.equal(created.status, 201, created.text)
  const { body } = await admin.get(`/admin/requests/${requestIdOf(created)}`)
  const events = await service.get('/events?type=order.created')
  assert.deepEqual(
    body.event_ids,
    events.body.data.map(({ id }: { id: string }) => id),
  )
  assert.equal(body.event_ids.length, 1)
})

const cards = resource('cards', {
  fields: { id: f.id(), code: f.string().min(4).secret(), pan: f.string().secret() },
  list: { filter: [], sort: ['id'] },
  access: { read: 'cards:read', create: 'cards:write', update: false, delete: false },
  events: [],
})
  .action('charge', { scope: 'cards:write', input: { pin: f.string().secret(), sum: f.int() } })
  .before('v2', {
    why: 'The number of a card is a PAN.',
    had: { number: f.string().secret() },
    hadNot: ['pan'],
    up: ({ number }) => ({ pan: number }),
    down: ({ pan }) => ({ number: pan }),
  })
const v1 = { released: '2025-01-01', deprecated_at: '2026-01-01', sunset_at: '2999-01-01' }
const wallet = declareService({
  name: 'Wallet',
  versions: { v1, v2: { released: '2026-01-01' } },
  resources: [cards],
})

eachService(
  'secret fields are not in the log, and the codes of mistakes are',
  async (service) => {
    const admin = await adminOf(service)
    const detailOf = async (path: string, body: unknown) => {
      const reply = await service.post(path, body)
      assert.equal(reply.status, 422, reply.text)
      return (await admin.get(`/admin/requests/${requestIdOf(reply)}`)).body
    }
    const created = await service.post('/api/v2/cards', { code: '1234', pan: '4242' })
    assert.equal(created.status, 201, created.text)
    const rejected = await detailOf('/api/v2/cards', { code: '9', pan: '4000', other: 'x' })
    assert.deepEqual(rejected.body, { code: '[redacted]', pan: '[redacted]', other: '[redacted]' })
    const codes = rejected.answer.body.errors.map(({ code }: { code: string }) => code)
    assert.deepEqual(codes.sort(), ['too_short', 'unknown_field'])
    const long = await detailOf('/api/v2/cards', { code: '9', pan: '4', ['o'.repeat(201)]: 'x' })
    assert.equal(long.body ?? null, null, 'the failure names the beginning alone')
    const older = await detailOf('/api/v1/cards', { code: '9', number: '4000' })
    assert.deepEqual(older.body, { code: '[redacted]', number: '[redacted]' })
    const action = await detailOf(`/api/v2/cards/${created.body.id}/charge`, { pin: '7', sum: 'x' })
    assert.deepEqual(action.body, { pin: '[redacted]', sum: 'x' })
  },
  { service: wallet, seed: false },
)

eachService('pages, assets and sessions of console and portal are not in the log', async (app) => {
  const admin = await adminOf(app)
  const anyone = app.as(undefined)
  const replies = [
    await anyone.get('/portal/logo'),
    await anyone.get('/assets/none.js'),
    await anyone.get('/console/session'),
    await anyone.post('/console/session', { email: 'ada@example.com', password: 'wrong' }),
    await anyone.get('/portal/session'),
  ]
  for (const reply of replies) {
    assert.equal((await admin.get(`/admin/requests/${requestIdOf(reply)}`)).status, 404)
  }
  const denied = await anyone.get('/portal/api/keys')
  assert.equal((await admin.get(`/admin/requests/${requestIdOf(denied)}`)).status, 200)
})

eachService('people in the portal count as no requests of their customer', async (service) => {
  const admin = await adminOf(service)
  const portal = await openPortal(service)
  const acme = await portal.customer('Acme')
  const session = await portal.session(acme)
  const statusInLog = async (reply: Reply) =>
    (await admin.get(`/admin/requests/${requestIdOf(reply)}`)).status
  const [poll, mistake] = [
    await session.get('/portal/api/health'),
    await session.get('/portal/api/deliveries/dlv_1'),
  ]
  const created = await session.post('/portal/api/keys', { name: 'Till', scopes: ['orders:read'] })
  assert.deepEqual([poll.status, mistake.status, created.status], [200, 404, 201])
  assert.equal(await statusInLog(poll), 404)
  for (const reply of [mistake, created]) assert.equal(await statusInLog(reply), 200)
  const countOf = async () =>
    (await admin.get(`/admin/series?metric=requests&customer=${acme}`)).body.totals.requests.count
  assert.equal(await countOf(), 0)
  const routes = (await admin.get('/admin/errors')).body.data.map(
    ({ route }: { route: string }) => route,
  )
  assert.ok(!routes.some((route: string) => route.startsWith('/portal')), routes.join())
  const listed = (await session.get('/portal/api/keys?name=Till')).body.data
  assert.equal(listed[0].last_used_at, null)
  const own = service.as(created.body.key)
  assert.equal((await own.get('/api/v2/orders')).status, 200)
  assert.equal(await countOf(), 1)
})

eachService(
  'the filter of warnings selects requests of a deprecated version',
  async (service) => {
    const admin = await adminOf(service)
    const [older, newer] = [
      await service.get('/api/v1/cards'),
      await service.get('/api/v2/cards'),
    ].map(requestIdOf)
    const idsOf = async (value: string) =>
      (await admin.get(`/admin/requests?path=/api/&warnings=${value}`)).body.data.map(
        ({ id }: { id: string }) => id,
      )
    assert.deepEqual(await idsOf('true'), [older])
    assert.deepEqual(await idsOf('false'), [newer])
  },
  { service: wallet, seed: false },
)

eachService(
  'a rejected request with a revoked key names the key and its customer',
  async (service) => {
    const admin = await adminOf(service)
    const created = await admin.post('/admin/keys', {
      name: 'Till',
      scopes: ['orders:read'],
      mode: 'live',
    })
    const { id, key, customer } = created.body
    const till = service.as(key)
    assert.equal((await till.get('/api/v2/orders')).status, 200)
    assert.equal((await admin.delete(`/admin/keys/${id}`)).status, 204)
    const rejected = await till.get('/api/v2/orders')
    assert.equal(rejected.body.error, 'invalid_api_key')
    const { body } = await admin.get(`/admin/requests?mode=live&key_id=${id}&status=403`)
    const [item] = body.data
    assert.equal(item.id, requestIdOf(rejected))
    assert.deepEqual([item.customer, item.mode, item.credential.id], [customer, 'live', id])
    assert.equal(item.credential.name, 'Till')
    const errors = await admin.get('/admin/errors?mode=live')
    assert.equal(errors.body.data[0].error, 'invalid_api_key')
  },
)

eachService('the mode none selects requests of unidentified callers', async (service) => {
  const admin = await adminOf(service)
  const rejected = await service.as('gk_live_unknown').get('/api/v2/orders')
  const idsOf = async (mode: string) => {
    const { body } = await admin.get(`/admin/requests?error=invalid_api_key&mode=${mode}`)
    return body.data.map(({ id }: { id: string }) => id)
  }
  assert.deepEqual(await idsOf('live'), [])
  for (const mode of ['none', 'live,none', 'test,none']) {
    assert.deepEqual(await idsOf(mode), [requestIdOf(rejected)], mode)
    const errors = await admin.get(`/admin/errors?mode=${mode}`)
    assert.equal(errors.body.data[0].error, 'invalid_api_key', mode)
    const series = await admin.get(`/admin/series?metric=requests&mode=${mode}`)
    assert.equal(series.body.totals.requests['4xx'], 1, mode)
  }
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`the object of a Location is bounded, and has no query [${kind}]`, async (t) => {
    const upstream = await openUpstream(t)
    const api = await openService(t, kind, { service: inFrontOf(upstream.url) })
    const admin = await adminOf(api)
    const objectOf = async (id: string) => {
      const location = `/invoices/${id}?token=x`
      upstream.respond = replyJson(201, { id: 1, total_cents: 1 }, { location })
      const created = await api.post('/api/v2/invoices', { total_cents: 1 })
      const list = await admin.get(`/admin/requests?id=${requestIdOf(created)}`)
      assert.equal(list.status, 200, list.text)
      return list.body.data[0].object
    }
    assert.equal(await objectOf('7'), 'invoices/7')
    // An index takes no entry of this size, and no compression makes it smaller.
    const long = randomBytes(3_900).toString('hex')
    assert.equal(await objectOf(long), `invoices/${long}`.slice(0, 128))
  })
}
