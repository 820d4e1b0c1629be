/** §5.5, §13: clients over HTTP, with an audit entry for each change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type Caller, eachService, openService } from '../../../../test/rig/service.ts'
import { basicOf, type Client, form, openOauthFixture } from '../oauth/rig.ts'

const requestToken = (caller: Caller, client: Client) =>
  form(caller, '/oauth/token', { grant_type: 'client_credentials' }, basicOf(client))

for (const { name } of databases) {
  test(`a client is created, read, listed, updated and deleted [${name}]`, async (t) => {
    const { admin, anonymous } = await openOauthFixture(t, name)
    const registration = {
      name: 'Shop',
      redirect_uris: ['https://shop.example/callback'],
      scopes: ['orders:read'],
      grant_types: ['authorization_code', 'client_credentials', 'refresh_token'],
    }
    const creation = await admin.post('/admin/clients', registration)
    assert.equal(creation.status, 201)
    assert.equal(creation.headers['cache-control'], 'no-store')
    const { client_id, client_secret, created_at, ...rest } = creation.body
    assert.equal(creation.headers.location, `/admin/clients/${client_id}`)
    assert.match(client_secret, /^gs_[0-9A-Za-z]{43}$/)
    assert.match(created_at, /^\d{4}-\d{2}-\d{2}T.*Z$/)
    assert.deepEqual(rest, {
      ...registration,
      public: false,
      jwks: null,
      jwks_uri: null,
      require_client_auth_on_refresh: true,
      first_party: false,
      id_token_signed_response_alg: 'RS256',
      source: 'administration',
      blocked: false,
      customer: 'cus_default',
      mode: 'live',
    })
    const path = `/admin/clients/${client_id}`
    const read = await admin.get(path)
    assert.deepEqual(read.body, { client_id, ...rest, created_at })
    const { body: list } = await admin.get('/admin/clients?name=Shop')
    assert.deepEqual(list.data, [read.body])
    assert.equal((await admin.get('/admin/clients?pagination=hypermedia&sort=-name')).status, 200)

    const scopes = ['orders:read', 'users:read']
    const patched = await admin.patch(path, { scopes, name: 'Store' })
    assert.deepEqual(
      [patched.status, patched.body.scopes, patched.body.name],
      [200, scopes, 'Store'],
    )
    const { body: token } = await requestToken(anonymous, creation.body)
    assert.equal(token.scope, 'orders:read users:read', 'the change applies at once')

    assert.equal((await admin.delete(path)).status, 204)
    for (const missing of [
      await admin.get(path),
      await admin.delete(path),
      await admin.patch(path, {}),
      await admin.post(`${path}/rotate-secret`),
    ]) {
      assert.equal(missing.status, 404)
    }
    assert.deepEqual((await admin.get('/admin/clients?name=Store')).body.data, [])
    assert.equal((await requestToken(anonymous, creation.body)).body.error, 'invalid_client')
    const me = { authorization: `Bearer ${token.access_token}` }
    assert.equal((await anonymous.get('/api/v2/protected', me)).status, 401)
    const { body: trail } = await admin.get(`/admin/audit?target=${client_id}`)
    const actions = trail.data.map((entry: { action: string }) => entry.action)
    assert.deepEqual(actions, ['client.create', 'client.update', 'client.delete'])
    assert.doesNotMatch(JSON.stringify(trail), /gs_/)
  })

  test(`a deletion reaches every node within two seconds [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const { admin, anonymous, client } = await openOauthFixture(t, name, { url })
    const other = (await openService(t, name, { url })).as(undefined)
    assert.equal((await requestToken(other, client)).status, 200)
    await admin.delete(`/admin/clients/${client.client_id}`)
    assert.equal((await requestToken(anonymous, client)).status, 401, 'on this node at once')
    await eventually(
      () => requestToken(other, client),
      ({ status }) => status !== 200,
    )
  })
}

test('two secrets are valid during the overlap, and never three', async (t) => {
  const { admin, anonymous, client } = await openOauthFixture(t, 'sqlite', {
    env: { GATEHOOK_TEST_CLOCK: '1' },
  })
  const rotate = (body?: object) =>
    admin.post(`/admin/clients/${client.client_id}/rotate-secret`, body)
  const second = await rotate({ overlap_seconds: 3600 })
  assert.equal(second.status, 200)
  assert.equal(second.headers['cache-control'], 'no-store')
  const newer = { ...client, client_secret: second.body.client_secret }
  for (const candidate of [client, newer])
    assert.equal((await requestToken(anonymous, candidate)).status, 200)
  const third = await rotate()
  assert.deepEqual([third.status, third.body.error], [409, 'limit_reached'])
  await admin.post('/admin/clock', { advance_s: 3601 })
  assert.equal((await requestToken(anonymous, client)).status, 401)
  assert.equal((await requestToken(anonymous, newer)).status, 200)
  const last = await rotate({ overlap_seconds: 0 })
  assert.equal((await requestToken(anonymous, newer)).status, 401)
  const newest = { ...client, client_secret: last.body.client_secret }
  assert.equal((await requestToken(anonymous, newest)).status, 200)
})

test('an invalid client is 422 with a pointer', async (t) => {
  const { admin, createClient } = await openOauthFixture(t, 'sqlite')
  const good = { name: 'x', redirect_uris: ['https://a.example/'], scopes: [] }
  const cases: readonly [body: Record<string, unknown>, pointer: string][] = [
    [{ ...good, name: undefined }, '/name'],
    [{ ...good, scopes: undefined }, '/scopes'],
    [{ ...good, scopes: ['nothing:read'] }, '/scopes/0'],
    [{ ...good, redirect_uris: ['https://a.example/', 'http://a.example/'] }, '/redirect_uris/1'],
    [{ ...good, redirect_uris: ['https://a.example/#x'] }, '/redirect_uris/0'],
    [{ ...good, grant_types: ['password'] }, '/grant_types/0'],
    [{ ...good, public: true, grant_types: ['client_credentials'] }, '/grant_types/0'],
    [
      { ...good, public: true, require_client_auth_on_refresh: true },
      '/require_client_auth_on_refresh',
    ],
    [{ ...good, customer: 'cus_nobody' }, '/customer'],
    [{ ...good, mode: 'test', scopes: ['admin'] }, '/scopes/0'],
    [{ ...good, client_id: 'mine' }, '/client_id'],
  ]
  for (const [body, pointer] of cases) {
    const reply = await admin.post('/admin/clients', body)
    assert.equal(reply.status, 422, pointer)
    assert.equal(reply.body.errors[0].pointer, pointer)
  }
  const spa = await createClient({ public: true })
  assert.deepEqual(spa.grant_types, ['authorization_code', 'refresh_token'])
  const path = `/admin/clients/${spa.client_id}`
  const patch = await admin.patch(path, { grant_types: ['client_credentials'] })
  assert.equal(patch.status, 422)
  assert.equal((await admin.post(`${path}/rotate-secret`)).body.error, 'invalid_state')
})

test('an idempotent replay creates one client, and only admins create clients', async (t) => {
  const { admin, anonymous } = await openOauthFixture(t, 'sqlite')
  const body = { name: 'Twice', redirect_uris: [], scopes: ['orders:read'] }
  const headers = { 'idempotency-key': 'one' }
  const [first, replay] = [
    await admin.post('/admin/clients', body, headers),
    await admin.post('/admin/clients', body, headers),
  ]
  assert.deepEqual(replay.body, first.body)
  assert.equal(replay.headers['idempotent-replayed'], 'true')
  assert.equal((await admin.get('/admin/clients?name=Twice')).body.data.length, 1)
  assert.equal((await anonymous.post('/admin/clients', body)).status, 401)
  const token = (await requestToken(anonymous, first.body)).body.access_token
  const asClient = { authorization: `Bearer ${token}` }
  assert.equal((await anonymous.get('/admin/clients', asClient)).status, 403)
})

eachService('a client has the grants that its registration needs, by default', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const withPerson = ['authorization_code', 'refresh_token']
  const cases: readonly [Record<string, unknown>, readonly string[]][] = [
    [{ redirect_uris: ['https://a.example/cb'] }, withPerson],
    [{ redirect_uris: ['https://a.example/cb'], public: true }, withPerson],
    [{}, ['client_credentials']],
    [{ redirect_uris: [] }, ['client_credentials']],
  ]
  for (const [members, grants] of cases) {
    const body = { name: 'A', scopes: ['orders:read'], ...members }
    const { status, body: client } = await admin.post('/admin/clients', body)
    assert.deepEqual([status, client.grant_types], [201, grants], JSON.stringify(members))
  }
})

eachService('a registered redirect URI has no parameter of a response', async (service) => {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const base = ['https://a.example/cb', 'http://127.0.0.1/cb', 'com.example.app:/cb']
  for (const uri of base) {
    for (const query of ['code=1', 'x=1&state=2', 'iss', 'error=', '%63ode=1', 'error&x']) {
      const body = { name: 'A', scopes: ['orders:read'], redirect_uris: [`${uri}?${query}`] }
      const { status, body: failure } = await admin.post('/admin/clients', body)
      assert.deepEqual([status, failure.errors?.[0].pointer], [422, '/redirect_uris/0'], query)
    }
    const body = { name: 'A', scopes: ['orders:read'], redirect_uris: [`${uri}?codes=1&x=state`] }
    assert.equal((await admin.post('/admin/clients', body)).status, 201, uri)
  }
})
