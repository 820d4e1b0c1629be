/** §5.3: the token endpoint reports errors with the codes of RFC 6749 §5.2. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { basicOf, exchange, form, obtainCode, openOauthFixture } from '../oauth/rig.ts'

test('client credentials: all scopes of the client, or the requested ones', async (t) => {
  const { anonymous, client } = await openOauthFixture(t, 'sqlite')
  const requestToken = (scope: string | null) =>
    form(anonymous, '/oauth/token', { grant_type: 'client_credentials', scope }, basicOf(client))
  const all = await requestToken(null)
  assert.equal(all.body.scope, 'users:read orders:read orders:write')
  assert.deepEqual(Object.keys(all.body).sort(), [
    ...['access_token', 'expires_in', 'scope', 'token_type'],
  ])
  const narrowed = await requestToken('orders:read')
  assert.equal(narrowed.body.scope, 'orders:read')
  const authorization = `Bearer ${narrowed.body.access_token}`
  const me = await anonymous.get('/api/v2/protected', { authorization })
  assert.equal(me.body.user, client.client_id)
  assert.equal((await anonymous.get('/api/v2/orders', { authorization })).status, 200)
  assert.equal((await anonymous.get('/api/v2/users', { authorization })).status, 403)
  // Scope escalation: scopes the client lacks, unknown scopes, a malformed list.
  for (const scope of ['admin', 'orders:read events:read', 'nothing', 'orders:read  users:read']) {
    const reply = await requestToken(scope)
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_scope'], scope)
  }
})

test('each error has its code, and no response may be cached', async (t) => {
  const { anonymous, client, createClient } = await openOauthFixture(t, 'sqlite')
  const spa = await createClient({ public: true })
  const clientWithoutGrant = await createClient({ grant_types: ['client_credentials'] })
  const good = { grant_type: 'client_credentials' }
  const id = client.client_id
  const secret = client.client_secret
  type Case = [status: number, error: string, fields: Record<string, string>, header?: object]
  const credential = basicOf(client)
  const cases: Case[] = [
    [400, 'invalid_request', {}, credential],
    [400, 'invalid_request', { grant_type: '' }, credential],
    [
      400,
      'unsupported_grant_type',
      { grant_type: 'password', username: 'a', password: 'b' },
      credential,
    ],
    [400, 'unsupported_grant_type', { grant_type: 'implicit' }, credential],
    [400, 'unsupported_grant_type', { grant_type: 'constructor' }, credential],
    [
      400,
      'unsupported_grant_type',
      { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' },
    ],
    [
      400,
      'unauthorized_client',
      { grant_type: 'refresh_token', refresh_token: 'x' },
      basicOf(clientWithoutGrant),
    ],
    [400, 'unauthorized_client', { ...good, client_id: spa.client_id }],
    [400, 'invalid_request', { grant_type: 'authorization_code' }, credential],
    [400, 'invalid_grant', { grant_type: 'refresh_token', refresh_token: 'x' }, credential],
    [400, 'invalid_request', { grant_type: 'refresh_token' }, credential],
    // Client authentication: two methods, two client ids, none, wrong.
    [400, 'invalid_request', { ...good, client_secret: secret }, credential],
    [400, 'invalid_request', { ...good, client_id: spa.client_id }, credential],
    [401, 'invalid_client', good],
    [401, 'invalid_client', { ...good, client_id: id }],
    [401, 'invalid_client', { ...good, client_id: id, client_secret: '' }],
    [401, 'invalid_client', { ...good, client_id: id, client_secret: `${secret}x` }],
    [401, 'invalid_client', { ...good, client_id: 'gatehook', client_secret: '' }],
    [401, 'invalid_client', { ...good, client_id: spa.client_id, client_secret: 'x' }],
    [401, 'invalid_client', good, { authorization: `Bearer ${secret}` }],
    [401, 'invalid_client', good, { authorization: 'Basic !' }],
    [401, 'invalid_client', good, { 'x-api-key': 'gk_live_x' }],
  ]
  for (const [status, error, fields, header = {}] of cases) {
    const reply = await form(anonymous, '/oauth/token', fields, header as Record<string, string>)
    const label = `${JSON.stringify(fields)} ${reply.text}`
    assert.deepEqual([reply.status, reply.body.error], [status, error], label)
    assert.equal(typeof reply.body.error_description, 'string')
    assert.equal(reply.headers['cache-control'], 'no-store', label)
    assert.equal(reply.headers.pragma, 'no-cache', label)
    const hasChallenge = reply.headers['www-authenticate']?.startsWith('Basic') ?? false
    assert.equal(hasChallenge, status === 401 && 'authorization' in header, label)
  }
  const body = await form(anonymous, '/oauth/token', {
    ...good,
    client_id: id,
    client_secret: secret,
  })
  assert.equal(body.status, 200)
})

test('repeated parameters, parameters in the URL, JSON and malformed text are 4xx', async (t) => {
  const { anonymous, client } = await openOauthFixture(t, 'sqlite')
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const headers = { ...type, ...basicOf(client) }
  const good = 'grant_type=client_credentials'
  for (const body of [
    `${good}&${good}`,
    `${good}&odd=1&odd=1`,
    `${good}&scope=%ff`,
    `${good}&a=%00`,
  ]) {
    const reply = await anonymous.post('/oauth/token', body, headers)
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'], body)
  }
  const url = await anonymous.post('/oauth/token?client_id=x', good, headers)
  assert.deepEqual([url.status, url.body.error], [400, 'invalid_request'])
  const json = await anonymous.post(
    '/oauth/token',
    { grant_type: 'client_credentials' },
    basicOf(client),
  )
  assert.deepEqual([json.status, json.body.error], [415, 'invalid_request'])
  assert.equal((await anonymous.get('/oauth/token')).status, 405)
})

test('a token is inactive for a client of another customer or mode', async (t) => {
  const { admin, anonymous, client, createClient } = await openOauthFixture(t, 'sqlite')
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const elsewhere = await createClient({ customer: customer.id })
  const testClient = await createClient({ mode: 'test' })
  for (const [tokenClient, mode] of [
    [testClient, 'test'],
    [client, 'live'],
  ] as const) {
    const fields = { grant_type: 'client_credentials' }
    const { body } = await form(anonymous, '/oauth/token', fields, basicOf(tokenClient))
    const claims = JSON.parse(atob(body.access_token.split('.')[1]))
    assert.equal(claims.mode, mode)
    assert.equal(claims.client_id, tokenClient.client_id)
    const introspection = await form(
      anonymous,
      '/oauth/introspect',
      { token: body.access_token },
      basicOf(elsewhere),
    )
    assert.deepEqual(introspection.body, { active: false })
  }
})

test('the clients of a suspended customer get no tokens', async (t) => {
  const { admin, anonymous, createClient } = await openOauthFixture(t, 'sqlite')
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const suspendedClient = await createClient({ customer: customer.id })
  await admin.patch(`/admin/customers/${customer.id}`, { suspended: true })
  const reply = await form(
    anonymous,
    '/oauth/token',
    { grant_type: 'client_credentials' },
    basicOf(suspendedClient),
  )
  assert.deepEqual([reply.status, reply.body.error], [400, 'unauthorized_client'])
})

test('failed authentications are limited per client and address', async (t) => {
  const { app, anonymous, client } = await openOauthFixture(t, 'sqlite')
  const wrong = basicOf({ ...client, client_secret: 'guess' })
  const fields = { grant_type: 'client_credentials' }
  for (let n = 0; n < 20; n++) {
    assert.equal((await form(anonymous, '/oauth/token', fields, wrong)).status, 401)
  }
  const limited = await form(anonymous, '/oauth/token', fields, basicOf(client))
  assert.equal(limited.status, 429)
  assert(Number(limited.headers['retry-after']) > 0)
  const elsewhere = await app.inject({
    method: 'POST',
    url: '/oauth/token',
    remoteAddress: '127.0.0.9',
    headers: {
      host: 'localhost',
      'content-type': 'application/x-www-form-urlencoded',
      ...basicOf(client),
    },
    payload: 'grant_type=client_credentials',
  })
  assert.equal(elsewhere.statusCode, 200)
})

test('a refresh token is valid for its client and for the consented scopes', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, client, createClient } = fixture
  const { body } = await exchange(fixture, await obtainCode(fixture, { scope: 'orders:read' }))
  const refresh = (more: Record<string, string>, headers = {}) => {
    const fields = { grant_type: 'refresh_token', refresh_token: body.refresh_token, ...more }
    return form(anonymous, '/oauth/token', fields, headers)
  }
  const spa = await createClient({ public: true })
  const other = basicOf(await createClient())
  for (const [error, reply] of [
    ['invalid_grant', refresh({}, other)],
    ['invalid_grant', refresh({ client_id: spa.client_id })],
    ['invalid_client', refresh({ client_id: client.client_id })],
    ['invalid_client', refresh({})],
    ['invalid_scope', refresh({ scope: 'orders:write' }, basicOf(client))],
    ['invalid_scope', refresh({ scope: 'admin' }, basicOf(client))],
  ] as const) {
    assert.equal((await reply).body.error, error)
  }
  // None of them consumed the token or revoked its family.
  assert.equal((await refresh({}, basicOf(client))).status, 200)
})
