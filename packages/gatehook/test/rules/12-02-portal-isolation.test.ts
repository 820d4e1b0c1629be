/**
 * §1.1, §12.2: a session of the portal reaches webhooks, deliveries and events of its customer and
 * mode, by the public handlers; those of others are 404 by any id. §10.7: only the portal's own
 * pages can use its cookie.
 */
import assert from 'node:assert/strict'
import { type Caller, eachService } from '../../../../test/rig/service.ts'
import { openPortal } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

const ENV = { env: { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1', GATEHOOK_TEST_CLOCK: '1' } }

type Ids = Readonly<Record<'webhook' | 'delivery' | 'event', string>>

/** Creates a registration in a session and a delivery to it. */
async function fill(portal: Caller, api: Caller, url: string): Promise<Ids> {
  const created = await portal.post('/portal/api/webhooks', { url, events: ['*'] })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers.location, `/portal/api/webhooks/${created.body.id}`)
  const email = `${created.body.id.toLowerCase()}@example.com`
  const user = await api.post('/api/v2/users', { name: 'Ada', email })
  assert.equal(user.status, 201, user.text)
  const log = await portal.get(`/portal/api/webhooks/${created.body.id}/deliveries`)
  const { id: delivery, event_id: event } = log.body.data[0]
  return { webhook: created.body.id, delivery, event }
}

/** The requests by id, with a body that the handler accepts. */
const requests = ({ webhook, delivery, event }: Ids) =>
  [
    ['GET', `webhooks/${webhook}`],
    ['GET', `webhooks/${webhook}/deliveries`],
    ['GET', `deliveries/${delivery}`],
    ['GET', `events/${event}`],
    ['PATCH', `webhooks/${webhook}`, { description: 'changed' }],
    ['POST', `webhooks/${webhook}/test`, { event_type: 'user.created' }],
    ['POST', `webhooks/${webhook}/recover`, { since: '2026-01-01T00:00:00Z' }],
    ['POST', `webhooks/${webhook}/replay`, { since: '2026-01-01T00:00:00Z' }],
    ['DELETE', `webhooks/${webhook}/replay`],
    ['POST', `deliveries/${delivery}/resend`],
    ['POST', `webhooks/${webhook}/rotate-secret`],
    ['DELETE', `webhooks/${webhook}`],
  ] as const

eachService(
  'things of another customer or mode are 404 by any id, in no list, and unchanged',
  async (service, t) => {
    const { customer, session } = await openPortal(service)
    const [shop, other] = [await customer('Shop'), await customer('Other')]
    const hook = await openHook(t)
    const portal = await session(shop)
    const api = service.as(await service.key({ customer: shop, mode: 'live' }))
    const ids = await fill(portal, api, hook.url)
    const foreign = [await session(other), await session(shop, { mode: 'test' })]
    const before = await portal.get(`/portal/api/webhooks/${ids.webhook}`)
    for (const caller of foreign) {
      for (const [method, path, body] of requests(ids)) {
        const reply = await caller.send(method, `/portal/api/${path}`, body)
        assert.deepEqual([reply.status, reply.body.error], [404, 'not_found'], `${method} ${path}`)
      }
      for (const list of ['webhooks', 'events']) {
        const reply = await caller.get(`/portal/api/${list}`)
        assert.deepEqual([reply.status, reply.body.data], [200, []], list)
      }
    }
    assert.equal((await portal.get(`/portal/api/webhooks/${ids.webhook}`)).text, before.text)
    for (const [method, path, body] of requests(ids)) {
      const reply = await portal.send(method, `/portal/api/${path}`, body)
      assert.ok(reply.status < 300 || reply.status === 409, `${method} ${path}: ${reply.text}`)
    }
  },
  ENV,
)

eachService('no other path accepts the cookie, and the portal accepts no key', async (service) => {
  const { anonymous, customer, session } = await openPortal(service)
  const portal = await session(await customer('Shop'))
  for (const path of ['/webhooks', '/events', '/api/v2/protected', '/auth/sessions']) {
    assert.equal((await portal.get(path)).status, 401, path)
  }
  for (const path of ['/admin/keys', '/console/session']) {
    assert.equal((await portal.get(path)).status, 401, path)
  }
  for (const path of ['/portal/session', '/portal/api/webhooks', '/portal/api/keys']) {
    const own = await service.get(path)
    assert.deepEqual([own.status, own.body.error], [403, 'forbidden'], path)
    const { status, body } = await anonymous.get(path)
    assert.deepEqual([status, body.error], [401, 'unauthorized'], path)
  }
  // Paths of the API that are not part of the portal.
  for (const path of ['orders', 'v2/orders', 'protected', '..%2fadmin%2fkeys']) {
    assert.equal((await portal.get(`/portal/api/${path}`)).status, 404, path)
  }
})

eachService('pages, forms and hosts of other origins cannot use the cookie', async (service) => {
  const { anonymous, customer, token, session } = await openPortal(service)
  const shop = await customer('Shop')
  const portal = await session(shop)
  const post = (headers: Record<string, string | undefined>) =>
    portal.post('/portal/api/keys', { name: 'x', scopes: [] }, headers as Record<string, string>)
  const refused: readonly (readonly [headers: Record<string, string>, code: string])[] = [
    [{ 'sec-fetch-site': 'none' }, 'forbidden'],
    [{ 'sec-fetch-site': 'cross-site' }, 'cross_site_request'],
    [{ 'sec-fetch-site': 'same-site' }, 'cross_site_request'],
    [{ origin: 'https://evil.example' }, 'cross_site_request'],
    [{ origin: 'null' }, 'cross_site_request'],
    [{ origin: 'http://sub.localhost' }, 'cross_site_request'],
  ]
  for (const [headers, code] of refused) {
    const { status, body } = await post(headers)
    assert.deepEqual([status, body.error], [403, code], JSON.stringify(headers))
  }
  assert.equal((await post({ origin: 'http://localhost' })).status, 201)
  assert.equal((await post({ 'sec-fetch-site': 'same-origin' })).status, 201)

  const fresh = await anonymous.post('/portal/session', { token: await token(shop) })
  const cookie = String([fresh.headers['set-cookie']].flat()[0]).split(';')[0]!
  const bare = (headers: Record<string, string>) =>
    anonymous.get('/portal/api/keys', { cookie, ...headers })
  assert.equal((await bare({})).status, 403, 'without the header of the pages')
  assert.equal((await bare({ 'sec-fetch-site': 'same-site' })).status, 403)
  assert.equal((await bare({ 'sec-fetch-site': 'same-origin' })).status, 200)
  const write = await anonymous.post('/portal/api/keys', { name: 'x', scopes: [] }, { cookie })
  assert.equal(write.status, 403, 'a write needs the header')
  const forced = await anonymous.post(
    '/portal/session',
    { token: await token(shop) },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(forced.status, 403, 'a foreign page cannot sign in')
  const invalid = await anonymous.post(
    '/portal/session',
    { a: 1 },
    { origin: 'https://evil.example' },
  )
  assert.equal(invalid.body.error, 'forbidden', 'the origin precedes the body')
  assert.equal((await anonymous.delete('/portal/session', { cookie })).status, 403)
  assert.equal((await bare({ 'sec-fetch-site': 'same-origin' })).status, 200, 'nor out')
  const preflight = await portal.send('OPTIONS', '/portal/api/keys', undefined, {
    origin: 'https://evil.example',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'x-gatehook-portal',
  })
  assert.equal(preflight.headers['access-control-allow-origin'], undefined)
})

eachService(
  'a session has the request limit of a credential',
  async (service) => {
    const { customer, session } = await openPortal(service)
    const shop = await customer('Shop')
    const [portal, second] = [await session(shop), await session(shop)]
    for (let n = 0; n < 20; n++) assert.equal((await portal.get('/portal/session')).status, 200)
    const { status, body, headers } = await portal.get('/portal/session')
    assert.deepEqual([status, body.error], [429, 'rate_limited'])
    assert.ok(Number(headers['retry-after']) > 0)
    assert.equal((await second.get('/portal/session')).status, 200, 'another has its own')
  },
  { env: { GATEHOOK_RATE_LIMIT: '20/60', GATEHOOK_TEST_CLOCK: '1' } },
)

for (const [origins, attributes] of [
  ['', 'HttpOnly; Secure; SameSite=Strict'],
  ['https://shop.example', 'HttpOnly; Secure; Partitioned; SameSite=None'],
] as const) {
  eachService(
    `a frame of another site gets a cookie of its own only if configured: "${origins}"`,
    async (service) => {
      const { anonymous, customer, token } = await openPortal(service)
      const https = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }
      const body = { token: await token(await customer('Shop')) }
      const { headers } = await anonymous.post('/portal/session', body, https)
      const line = String([headers['set-cookie']].flat()[0])
      assert.match(line, /^__Host-gatehook_portal=/)
      assert.ok(line.endsWith(`; ${attributes}`), line)
    },
    { env: { GATEHOOK_TRUST_PROXY: '127.0.0.1', GATEHOOK_PORTAL_FRAME_ANCESTORS: origins } },
  )
}
