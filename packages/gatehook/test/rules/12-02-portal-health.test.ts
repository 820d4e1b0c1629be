/**
 * §12.2: the portal tells a customer what fails, what it must change by when, which of its requests
 * failed, and what applications may do. Another customer or mode has none of it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { post } from '../fixtures/three-versions.ts'
import { documentEnv, openDocumentHost } from '../oauth/document-host.ts'
import { authorizePath, grantConsent, openBrowser, openOauthFixture } from '../oauth/rig.ts'
import { OWN, openPortal } from '../portal/rig.ts'
import { openHook } from '../webhooks/hook.ts'

const ENV = {
  env: {
    GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
    GATEHOOK_TEST_CLOCK: '1',
    GATEHOOK_RATE_LIMIT: '100/60',
  },
}
const DAY_MS = 86_400_000

eachService('a customer without calls is well', async (service) => {
  const { customer, session } = await openPortal(service)
  const portal = await session(await customer('Shop'))
  const { status, body } = await portal.get('/portal/api/health')
  assert.equal(status, 200)
  assert.deepEqual(body, {
    state: 'well',
    fix_by: null,
    deadlines: [],
    versions: [],
    changes: [],
    webhooks: [],
    limits: { requests: null, used_share: null },
  })
})

eachService(
  'callers of a version that ends are named, with its end and its changes',
  async (service, t) => {
    const { operator, customer, session } = await openPortal(service)
    const shop = await customer('Shop')
    const hook = await openHook(t)
    const can = ['keys:read', 'keys:write', 'webhooks:read', 'webhooks:write', 'clients:read']
    const portal = await session(shop, { can })
    const registration = { url: hook.url, events: ['client.created'], api_version: 'v1' }
    const create = await portal.post('/portal/api/webhooks', registration)
    assert.equal(create.status, 201, create.text)
    const key = await portal.post('/portal/api/keys', { name: 'Old job', scopes: ['clients:read'] })
    assert.equal((await service.as(key.body.key).get('/api/v1/clients')).status, 200)
    await service.app.versioning.flush()
    const sunset_at = new Date(Date.now() + 400 * DAY_MS).toISOString()
    const deprecated_at = new Date().toISOString()
    const update = await operator.put('/admin/versions/v1', { deprecated_at, sunset_at })
    assert.equal(update.status, 200, update.text)
    const { body } = await portal.get('/portal/api/health')
    assert.deepEqual([body.state, body.fix_by], ['fix_by', sunset_at])
    const [v1] = body.versions
    assert.deepEqual([v1.version, v1.fix_by, v1.successor], ['v1', sunset_at, 'v2'])
    const callers = v1.callers.map(({ kind, id, name, count }: Record<string, unknown>) => ({
      ...{ kind, id, name, count },
    }))
    assert.deepEqual(callers, [
      { kind: 'key', id: key.body.id, name: 'Old job', count: 1 },
      { kind: 'webhook', id: create.body.id, name: new URL(hook.url).host, count: null },
    ])
    const [renamed] = body.changes
    assert.deepEqual([renamed.version, renamed.resource], ['v2', 'clients'])
    assert.deepEqual(renamed.renamed, { mail: 'email' })
    const { event_type, from, to } = renamed.example
    assert.deepEqual([event_type, from.mail], ['client.created', to.email])
    assert.deepEqual([from.email, to.mail], [undefined, undefined])
    const share = { requests: { limit: 100, window_s: 60 }, used_share: 0.001 }
    assert.deepEqual(body.limits, share)

    for (const foreign of [
      await session(await customer('Other'), { can }),
      await session(shop, { can, mode: 'test' }),
    ]) {
      const other = (await foreign.get('/portal/api/health')).body
      assert.deepEqual([other.state, other.versions, other.webhooks], ['well', [], []])
      assert.equal(other.limits.used_share, 0)
    }
    const blind = await session(shop, { can: ['clients:read'] })
    assert.deepEqual((await blind.get('/portal/api/health')).body.webhooks, [])
  },
  { ...ENV, service: post },
)

eachService(
  'deadlines of keys, endpoints and versions are listed, soonest first',
  async (service, t) => {
    const { operator, customer, session } = await openPortal(service)
    const [shop, hook] = [await customer('Shop'), await openHook(t)]
    const portal = await session(shop)
    const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
    const keyOf = async (name: string, days: number, members: Record<string, unknown> = {}) => {
      const rest = { scopes: ['orders:read'], customer: shop, mode: 'live', ...members }
      const reply = await operator.post('/admin/keys', { name, expires_at: inDays(days), ...rest })
      assert.equal(reply.status, 201, reply.text)
      return reply.body.id as string
    }
    const far = await keyOf('Far', 29)
    const near = await keyOf('Near', 3)
    await keyOf('Next year', 365)
    await keyOf('One task', 0.5)
    await keyOf('Test mode', 3, { mode: 'test' })
    await keyOf('Other customer', 3, { customer: await customer('Other') })
    const registration = { url: hook.url, events: ['order.*'], api_version: 'v1' }
    const created = await portal.post('/portal/api/webhooks', registration)
    assert.equal(created.status, 201, created.text)
    await service.app.db.write((tx) =>
      tx.run(sql`UPDATE gh_webhooks SET first_failure_at = ${Date.now()}`),
    )
    const ends = { deprecated_at: new Date().toISOString(), sunset_at: inDays(372) }
    const update = await operator.put('/admin/versions/v1', ends)
    assert.equal(update.status, 200, update.text)

    const { body } = await portal.get('/portal/api/health')
    const ids = body.deadlines.map(({ kind, id }: Record<string, string>) => `${kind} ${id}`)
    const endpoint = `webhook ${created.body.id}`
    assert.deepEqual(ids, [`key ${near}`, endpoint, `key ${far}`, 'version v1'])
    assert.equal(body.fix_by, ends.sunset_at, 'remains the end of the version')
    const blind = await session(shop, { can: ['orders:read'] })
    const seen = (await blind.get('/portal/api/health')).body.deadlines
    assert.deepEqual(
      seen.map(({ kind }: { kind: string }) => kind),
      ['version'],
      'neither keys nor endpoints without their scopes',
    )
  },
  ENV,
)

eachService('a key that expires soon is a reason to act', async (service) => {
  const { operator, customer, session } = await openPortal(service)
  const shop = await customer('Shop')
  const expires_at = new Date(Date.now() + 5 * DAY_MS).toISOString()
  const owner = { customer: shop, mode: 'live' }
  const key = { name: 'Nightly', scopes: ['orders:read'], expires_at, ...owner }
  const { id } = (await operator.post('/admin/keys', key)).body
  const { body } = await (await session(shop)).get('/portal/api/health')
  assert.deepEqual(body.deadlines, [{ kind: 'key', id, name: 'Nightly', at: expires_at }])
  assert.deepEqual([body.state, body.fix_by], ['fix_by', null])
})

eachService('failed requests of the customer are listed, and no others', async (service) => {
  const { operator, customer, session } = await openPortal(service)
  const [shop, other] = [await customer('Shop'), await customer('Other')]
  const keyOf = async (members: Record<string, unknown>) => {
    const body = { name: 'Backend', scopes: ['orders:read', 'orders:write'], ...members }
    return service.as((await operator.post('/admin/keys', body)).body.key)
  }
  const own = await keyOf({ customer: shop, mode: 'live' })
  const strangers = [
    await keyOf({ customer: other, mode: 'live' }),
    await keyOf({ customer: shop, mode: 'test' }),
  ]
  const id = { 'x-request-id': 'shared-id' }
  const client = { from: 'ann@example.com', referer: 'https://ann.example/', ...id }
  assert.equal((await own.post('/api/v2/orders', { amount: 'x' }, client)).status, 422)
  assert.equal((await own.get('/api/v2/orders')).status, 200)
  for (const stranger of strangers) {
    assert.equal((await stranger.post('/api/v2/orders', { amount: 1 }, id)).status, 422)
  }
  const acting = `/admin/as/${shop}/live/api/v2/orders`
  assert.equal((await operator.post(acting, { amount: 'x' })).status, 422)
  const portal = await session(shop)
  assert.equal((await portal.get('/portal/api/webhooks/wh_none')).status, 404)
  const list = await portal.get('/portal/api/errors')
  assert.equal(list.status, 200, list.text)
  assert.equal(
    list.body.data.length,
    1,
    'neither successes, others, operators nor the portal itself',
  )
  const [failed] = list.body.data
  assert.deepEqual(
    [failed.id, failed.method, failed.path, failed.status, failed.error, failed.version],
    ['shared-id', 'POST', '/api/v2/orders', 422, 'validation_failed', 'v2'],
  )
  assert.deepEqual([failed.credential.kind, failed.credential.name], ['key', 'Backend'])
  const detail = await portal.get('/portal/api/requests/shared-id')
  assert.equal(detail.status, 200, detail.text)
  assert.deepEqual(detail.body.body, { amount: 'x' }, 'not that of another customer')
  assert.equal(detail.body.gates, undefined, 'the pipeline is for operators')
  const clientOf = ({ ip, user_agent, credential }: typeof detail.body) => [
    ...[ip, user_agent, credential.id === null],
  ]
  assert.deepEqual(clientOf(detail.body), ['127.0.0.1', 'lightMyRequest', false])
  assert.equal(detail.body.headers['user-agent'], 'lightMyRequest')
  const blind = await session(shop, { can: ['orders:read', 'orders:write'] })
  const hidden = (await blind.get('/portal/api/requests/shared-id')).body
  assert.deepEqual(clientOf(hidden), [null, null, true], 'who sent it needs keys:read')
  assert.deepEqual(
    Object.keys(hidden.headers).filter((name) => !/^(accept|content-(type|length))$/.test(name)),
    [],
    'and so do headers that say it',
  )
  assert.equal(hidden.headers['content-type'], 'application/json')
  assert.equal((await blind.get('/portal/api/errors')).body.data[0].ip, null)
  const empty = await session(await customer('Third'))
  assert.deepEqual((await empty.get('/portal/api/errors')).body.data, [])
  assert.equal((await empty.get('/portal/api/requests/shared-id')).status, 404)
  for (const query of ['customer=x', 'status=2xx', 'limit=0', 'limit=101', 'cursor=x', 'from=y']) {
    const { status, body } = await portal.get(`/portal/api/errors?${query}`)
    assert.equal(status, 400, `${query}: ${JSON.stringify(body)}`)
  }
})

for (const { name } of databases) {
  test(`applications are those that people of the customer allowed [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env: documentEnv })
    const { admin, anonymous, client, person } = fixture
    await grantConsent(openBrowser(fixture.app), authorizePath(client), person)
    const portal = async (members: Record<string, unknown>) => {
      const link = {
        customer: 'default',
        mode: 'live',
        can: ['keys:read', 'keys:write', 'users:read'],
        ...members,
      }
      const { body } = await admin.post('/admin/portal-links', link)
      const token = body.url.split('#token=')[1]
      const reply = await anonymous.post('/portal/session', { token })
      assert.equal(reply.status, 201, reply.text)
      return { ...OWN, cookie: String([reply.headers['set-cookie']].flat()[0]).split(';')[0]! }
    }
    const own = await portal({})
    const list = await anonymous.get('/portal/api/consents', own)
    assert.equal(list.status, 200, list.text)
    const [application] = list.body.data
    assert.deepEqual(
      [application.client_id, application.name, application.hosts, application.allowed_by],
      [client.client_id, 'An app', [], { id: String(person.id), name: person.email }],
    )
    assert.ok(application.allows.includes('See your orders'))
    assert.ok(application.allows.includes('Create and change your orders'))
    const path = `/portal/api/consents/${application.id}`
    const foreign = await portal({ mode: 'test' })
    assert.deepEqual((await anonymous.get('/portal/api/consents', foreign)).body.data, [])
    assert.equal((await anonymous.delete(path, foreign)).status, 404)
    const reader = await portal({ can: ['keys:read'] })
    const [seen] = (await anonymous.get('/portal/api/consents', reader)).body.data
    assert.deepEqual(seen.allowed_by, { id: String(person.id), name: null }, 'not the name')
    assert.equal((await anonymous.delete(path, reader)).body.error, 'insufficient_scope')
    assert.equal((await anonymous.delete(path, own)).status, 204)
    assert.equal((await anonymous.delete(path, own)).status, 404)
    const unsafe = '/portal/api/consents/9999999999999999.x'
    assert.equal((await anonymous.delete(unsafe, own)).status, 404, 'no id of a person')
    assert.deepEqual((await anonymous.get('/portal/api/consents', own)).body.data, [])
    // The id of a client with a document is a URL of any length.
    const host = await openDocumentHost(t)
    const id = host.document({}, `/${'a'.repeat(1_500)}`)
    await grantConsent(openBrowser(fixture.app), authorizePath({ client_id: id }), person)
    const [described] = (await anonymous.get('/portal/api/consents', own)).body.data
    assert.deepEqual(described.hosts, [new URL(id).host])
    const revocation = `/portal/api/consents/${encodeURIComponent(described.id)}`
    assert.equal((await anonymous.delete(revocation, own)).status, 204)
  })
}
