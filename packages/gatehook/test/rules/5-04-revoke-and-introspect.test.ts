/** §5.4: what a token is, and its end, for whom it concerns. */
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

const issued = async (fixture: OauthFixture) =>
  (await exchange(fixture, await obtainCode(fixture))).body

const introspect = (fixture: OauthFixture, token: string, headers: Record<string, string>) =>
  form(fixture.anonymous, '/oauth/introspect', { token }, headers)

test('a client sees its own tokens of both kinds', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { client, person } = fixture
  const { access_token, refresh_token } = await issued(fixture)
  const access = await introspect(fixture, access_token, basicOf(client))
  assert.equal(access.status, 200)
  assert.equal(access.headers['cache-control'], 'no-store')
  const { iat, exp, jti, sid, iss, aud, ...rest } = access.body
  assert.deepEqual(rest, {
    active: true,
    token_type: 'Bearer',
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

test('others’ tokens, and what is none, are inactive and nothing more', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const other = basicOf(await fixture.createClient())
  const { access_token, refresh_token } = await issued(fixture)
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

test('tokens:introspect sees all of its customer and mode, by client, bearer or key', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, anonymous, createClient } = fixture
  const { access_token } = await issued(fixture)
  const seer = await createClient({ scopes: ['tokens:introspect'] })
  const elsewhere = await createClient({ scopes: ['tokens:introspect'], mode: 'test' })
  const bearerOf = async (client: typeof seer) => {
    const fields = { grant_type: 'client_credentials' }
    const { body } = await form(anonymous, '/oauth/token', fields, basicOf(client))
    return { authorization: `Bearer ${body.access_token}` }
  }
  const make = (mode: string, scopes: string[]) =>
    admin.post('/admin/keys', { name: 'k', scopes, mode }).then((reply) => reply.body.key)
  const key = { 'x-api-key': await make('live', ['tokens:introspect']) }
  for (const headers of [basicOf(seer), await bearerOf(seer), key]) {
    assert.equal((await introspect(fixture, access_token, headers)).body.active, true)
  }
  for (const headers of [basicOf(elsewhere), await bearerOf(elsewhere)]) {
    assert.deepEqual((await introspect(fixture, access_token, headers)).body, { active: false })
  }
  const weak = await introspect(fixture, access_token, { 'x-api-key': await make('live', []) })
  assert.deepEqual([weak.status, weak.body.error], [403, 'insufficient_scope'])
  const own = await introspect(fixture, access_token, await bearerOf(fixture.client))
  assert.equal(own.status, 403)
  const two = await introspect(fixture, access_token, { ...key, ...basicOf(seer) })
  assert.deepEqual([two.status, two.body.error], [400, 'invalid_request'], 'one credential')
  const dead = await introspect(fixture, access_token, { authorization: 'Bearer a.b.c' })
  assert.deepEqual([dead.status, dead.body.error], [401, 'invalid_token'])
})

test('nobody introspects without proving who it is', async (t) => {
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

test('revoking a refresh token ends its session; an access token ends alone', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, client } = fixture
  const revoke = (fields: Record<string, string>, headers = basicOf(client)) =>
    form(anonymous, '/oauth/revoke', fields, headers)
  const status = async (token: string) =>
    (await anonymous.get('/api/v2/protected', { authorization: `Bearer ${token}` })).status
  const one = await issued(fixture)
  assert.equal((await revoke({ token: one.access_token })).status, 200)
  assert.equal(await status(one.access_token), 401)
  assert.equal((await introspect(fixture, one.refresh_token, basicOf(client))).body.active, true)
  // A hint that is wrong is not believed (RFC 7009 §2.1).
  const hint = { token_type_hint: 'access_token' }
  const two = await issued(fixture)
  const ended = await revoke({ token: two.refresh_token, ...hint })
  assert.equal(ended.status, 200)
  assert.deepEqual(ended.body, {})
  assert.equal(await status(two.access_token), 401)
  assert.equal((await introspect(fixture, two.access_token, basicOf(client))).body.active, false)
  for (const token of [two.refresh_token, two.access_token, 'x', 'a.b.c']) {
    assert.equal((await revoke({ token })).status, 200, 'again, or nothing: it is gone')
  }
})

test('nobody revokes what is another’s, or without proving who it is', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { anonymous, createClient } = fixture
  const { access_token, refresh_token } = await issued(fixture)
  const other = basicOf(await createClient())
  for (const token of [access_token, refresh_token]) {
    const reply = await form(anonymous, '/oauth/revoke', { token }, other)
    assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_grant'])
    const unnamed = await form(anonymous, '/oauth/revoke', { token })
    assert.deepEqual([unnamed.status, unnamed.body.error], [401, 'invalid_client'])
  }
  const authorization = `Bearer ${access_token}`
  assert.equal((await anonymous.get('/api/v2/protected', { authorization })).status, 200)
})
