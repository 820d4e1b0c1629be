/** §5.4: introspection and revocation, and the callers that may use them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  basicOf,
  exchange,
  form,
  type OauthFixture,
  obtainCode,
  openOauthFixture,
} from '../oauth/rig.ts'

const issueTokens = async (fixture: OauthFixture) =>
  (await exchange(fixture, await obtainCode(fixture))).body

const introspect = (fixture: OauthFixture, token: string, headers: Record<string, string>) =>
  form(fixture.anonymous, '/oauth/introspect', { token }, headers)

test('a client introspects its own access and refresh tokens', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { client, person } = fixture
  const { access_token, refresh_token } = await issueTokens(fixture)
  const access = await introspect(fixture, access_token, basicOf(client))
  assert.equal(access.status, 200)
  assert.equal(access.headers['cache-control'], 'no-store')
  const { iat, exp, jti, sid, iss, aud, ...rest } = access.body
  assert.deepEqual(rest, {
    active: true,
    token_type: 'Bearer',
    kind: 'person',
    sub: String(person.id),
    client_id: client.client_id,
    scope: 'users:read orders:read orders:write',
    customer: 'cus_default',
    mode: 'live',
    name: 'A person',
  })
  assert.equal(exp - iat, 900)
  assert.equal(iss, aud)
  assert.equal(typeof jti, 'string')
  const refresh = await introspect(fixture, refresh_token, basicOf(client))
  assert.equal(refresh.body.active, true)
  assert.equal(refresh.body.sid, sid)
  assert.equal(refresh.body.client_id, client.client_id)
})

test('a token of another client, or a forged one, is inactive without details', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const other = basicOf(await fixture.createClient())
  const { access_token, refresh_token } = await issueTokens(fixture)
  const [head, claims] = access_token.split('.')
  const forged = `${head}.${claims}.${'A'.repeat(86)}`
  for (const token of [access_token, refresh_token, forged, 'x', 'a.b.c', '..']) {
    assert.deepEqual((await introspect(fixture, token, other)).body, { active: false }, token)
  }
  const { body: login } = await fixture.anonymous.post('/auth/login', {
    username: fixture.person.email,
    password: 'correct horse battery',
  })
  assert.deepEqual((await introspect(fixture, login.access_token, other)).body, { active: false })
})

test('tokens:introspect covers a customer and mode, by client, token or key', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, anonymous, createClient } = fixture
  const { access_token } = await issueTokens(fixture)
  const introspector = await createClient({ scopes: ['tokens:introspect'] })
  const elsewhere = await createClient({ scopes: ['tokens:introspect'], mode: 'test' })
  const bearerOf = async (client: typeof introspector) => {
    const fields = { grant_type: 'client_credentials' }
    const { body } = await form(anonymous, '/oauth/token', fields, basicOf(client))
    return { authorization: `Bearer ${body.access_token}` }
  }
  const make = (mode: string, scopes: string[]) =>
    admin.post('/admin/keys', { name: 'k', scopes, mode }).then((reply) => reply.body.key)
  const key = { 'x-api-key': await make('live', ['tokens:introspect']) }
  for (const headers of [basicOf(introspector), await bearerOf(introspector), key]) {
    assert.equal((await introspect(fixture, access_token, headers)).body.active, true)
  }
  for (const headers of [basicOf(elsewhere), await bearerOf(elsewhere)]) {
    assert.deepEqual((await introspect(fixture, access_token, headers)).body, { active: false })
  }
  const withoutScope = await introspect(fixture, access_token, {
    'x-api-key': await make('live', []),
  })
  assert.deepEqual([withoutScope.status, withoutScope.body.error], [403, 'insufficient_scope'])
  const own = await introspect(fixture, access_token, await bearerOf(fixture.client))
  assert.equal(own.status, 403)
  const secondTokens = await introspect(fixture, access_token, { ...key, ...basicOf(introspector) })
  assert.deepEqual(
    [secondTokens.status, secondTokens.body.error],
    [400, 'invalid_request'],
    'two credentials are an error',
  )
  const invalidToken = await introspect(fixture, access_token, { authorization: 'Bearer a.b.c' })
  assert.deepEqual([invalidToken.status, invalidToken.body.error], [401, 'invalid_token'])
})

test('introspection requires authentication', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const spa = await fixture.createClient({ public: true })
  for (const fields of [
    { token: 'x' },
    { token: 'x', client_id: spa.client_id },
    { token: 'x', client_id: fixture.client.client_id },
  ]) {
    const reply = await form(fixture.anonymous, '/oauth/introspect', fields)
    assert.deepEqual([reply.status, reply.body.error], [401, 'invalid_client'])
  }
  const empty = await form(fixture.anonymous, '/oauth/introspect', {}, basicOf(fixture.client))
  assert.deepEqual([empty.status, empty.body.error], [400, 'invalid_request'])
})

test('revocation of a refresh token ends its session; an access token ends alone', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, client } = fixture
  const revoke = (fields: Record<string, string>, headers = basicOf(client)) =>
    form(anonymous, '/oauth/revoke', fields, headers)
  const status = async (token: string) =>
    (await anonymous.get('/api/v2/protected', { authorization: `Bearer ${token}` })).status
  const firstTokens = await issueTokens(fixture)
  assert.equal((await revoke({ token: firstTokens.access_token })).status, 200)
  assert.equal(await status(firstTokens.access_token), 401)
  assert.equal(
    (await introspect(fixture, firstTokens.refresh_token, basicOf(client))).body.active,
    true,
  )
  // A wrong hint has no effect (RFC 7009 §2.1).
  const hint = { token_type_hint: 'access_token' }
  const secondTokens = await issueTokens(fixture)
  const revocation = await revoke({ token: secondTokens.refresh_token, ...hint })
  assert.equal(revocation.status, 200)
  assert.deepEqual(revocation.body, {})
  assert.equal(await status(secondTokens.access_token), 401)
  assert.equal(
    (await introspect(fixture, secondTokens.access_token, basicOf(client))).body.active,
    false,
  )
  for (const token of [secondTokens.refresh_token, secondTokens.access_token, 'x', 'a.b.c']) {
    assert.equal((await revoke({ token })).status, 200, 'a revoked or unknown token is no error')
  }
})

test('a client revokes its own tokens only, and must authenticate', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, createClient } = fixture
  const { access_token, refresh_token } = await issueTokens(fixture)
  const other = basicOf(await createClient())
  for (const token of [access_token, refresh_token]) {
    const reply = await form(anonymous, '/oauth/revoke', { token }, other)
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_grant'])
    const unauthenticated = await form(anonymous, '/oauth/revoke', { token })
    assert.deepEqual([unauthenticated.status, unauthenticated.body.error], [401, 'invalid_client'])
  }
  const authorization = `Bearer ${access_token}`
  assert.equal((await anonymous.get('/api/v2/protected', { authorization })).status, 200)
})

test('no token of a client that was blocked, or lost the grant, is active', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { client, createClient, admin } = fixture
  const other = basicOf(await createClient({ scopes: ['tokens:introspect'] }))
  const isActive = async ({ refresh_token: token }: { refresh_token: string }) =>
    (await introspect(fixture, token, other)).body.active
  const tokens = await issueTokens(fixture)
  const path = `/admin/clients/${client.client_id}`
  for (const [change, active] of [
    [{ blocked: false }, true],
    [{ blocked: true }, false],
    [{ blocked: false, grant_types: ['authorization_code'] }, false],
  ] as const) {
    assert.equal((await admin.patch(path, change)).status, 200)
    assert.equal(await isActive(tokens), active, JSON.stringify(change))
  }
})
