/** §5.3: a code is valid for one exchange by its client, within 60 seconds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  CHALLENGE,
  exchange,
  form,
  grantConsent,
  type OauthFixture,
  obtainCode,
  openBrowser,
  openOauthFixture,
  VERIFIER,
} from '../oauth/rig.ts'

for (const { name } of databases) {
  test(`a code and a refresh token are exchanged for tokens [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { anonymous, client, person } = fixture
    const reply = await exchange(
      fixture,
      await obtainCode(fixture, { scope: 'orders:read users:read' }),
    )
    assert.equal(reply.status, 200, reply.text)
    const { access_token, refresh_token, ...rest } = reply.body
    assert.deepEqual(rest, {
      token_type: 'Bearer',
      expires_in: 900,
      scope: 'orders:read users:read',
    })
    assert.equal(reply.headers['cache-control'], 'no-store')
    assert.equal(reply.headers.pragma, 'no-cache')
    const me = await anonymous.get('/api/v2/protected', { authorization: `Bearer ${access_token}` })
    assert.deepEqual(me.body, { status: 'ok', user: String(person.id) })

    const refresh = { grant_type: 'refresh_token', refresh_token, scope: 'orders:read' }
    const narrow = await form(anonymous, '/oauth/token', refresh, basicOf(client))
    assert.equal(narrow.status, 200, narrow.text)
    assert.equal(narrow.body.scope, 'orders:read')
    assert.notEqual(narrow.body.refresh_token, refresh_token)
    const whole = await form(
      anonymous,
      '/oauth/token',
      { grant_type: 'refresh_token', refresh_token: narrow.body.refresh_token },
      basicOf(client),
    )
    assert.equal(whole.body.scope, 'orders:read users:read')
  })
}

for (const { name } of databases) {
  test(`one of parallel exchanges succeeds, and another revokes it [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const code = await obtainCode(fixture)
    const replies = await Promise.all(Array.from({ length: 6 }, () => exchange(fixture, code)))
    const succeeded = replies.filter((reply) => reply.status === 200)
    assert.equal(succeeded.length, 1)
    for (const reply of replies.filter((reply) => reply.status !== 200)) {
      assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_grant'])
    }
    for (const { body } of succeeded) await assertRevoked(fixture, body)
  })
}

type Tokens = { access_token: string; refresh_token: string }

/** Asserts that both tokens of a session are revoked. */
async function assertRevoked({ anonymous, client }: OauthFixture, tokens: Tokens): Promise<void> {
  const authorization = `Bearer ${tokens.access_token}`
  const me = await anonymous.get('/api/v2/protected', { authorization })
  assert.equal(me.status, 401)
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const refreshed = await form(anonymous, '/oauth/token', refresh, basicOf(client))
  assert.deepEqual([refreshed.status, refreshed.body.error], [400, 'invalid_grant'])
}

test('the reuse of a code is rejected, and revokes the tokens of the first use', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const code = await obtainCode(fixture)
  const first = await exchange(fixture, code)
  assert.equal(first.status, 200)
  const second = await exchange(fixture, code)
  assert.deepEqual([second.status, second.body.error], [400, 'invalid_grant'])
  await assertRevoked(fixture, first.body)
})

test('a code is valid for 60 seconds', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env: { GATEHOOK_TEST_CLOCK: '1' } })
  const [young, old] = [await obtainCode(fixture), await obtainCode(fixture)]
  await fixture.admin.post('/admin/clock', { advance_s: 30 })
  assert.equal((await exchange(fixture, young)).status, 200)
  await fixture.admin.post('/admin/clock', { advance_s: 31 })
  assert.equal((await exchange(fixture, old)).body.error, 'invalid_grant')
})

test('a wrong secret, redirect, verifier or client does not consume the code', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { client, createClient } = fixture
  const code = await obtainCode(fixture)
  const other = await createClient()
  const wrongCredential = basicOf({ ...client, client_secret: 'gs_wrong' })
  const attempts: [error: string, reply: Promise<{ status: number; body: { error: string } }>][] = [
    ['invalid_client', exchange(fixture, code, {}, wrongCredential)],
    ['invalid_client', exchange(fixture, code, { client_id: client.client_id }, {})],
    ['invalid_grant', exchange(fixture, code, {}, basicOf(other))],
    ['invalid_grant', exchange(fixture, code, { redirect_uri: `${CALLBACK}/` })],
    ['invalid_request', exchange(fixture, code, { redirect_uri: null })],
    ['invalid_grant', exchange(fixture, code, { code_verifier: VERIFIER.replace('a', 'b') })],
    ['invalid_grant', exchange(fixture, code, { code_verifier: CHALLENGE })],
    ['invalid_grant', exchange(fixture, code, { code_verifier: 'short' })],
    ['invalid_grant', exchange(fixture, code, { code_verifier: null })],
    ['invalid_grant', exchange(fixture, code, { code_verifier: '' })],
    ['invalid_grant', exchange(fixture, `${code}x`)],
  ]
  for (const [error, reply] of attempts) assert.equal((await reply).body.error, error)
  assert.equal((await exchange(fixture, code)).status, 200)
})

test('the reuse of a code by another client revokes nothing', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const code = await obtainCode(fixture)
  const { body } = await exchange(fixture, code)
  const other = basicOf(await fixture.createClient())
  assert.equal((await exchange(fixture, code, {}, other)).body.error, 'invalid_grant')
  const me = await fixture.anonymous.get('/api/v2/protected', {
    authorization: `Bearer ${body.access_token}`,
  })
  assert.equal(me.status, 200)
})

test('a client without the refresh grant cannot refresh at any endpoint', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, anonymous, client } = fixture
  const { refresh_token } = (await exchange(fixture, await obtainCode(fixture))).body
  const path = `/admin/clients/${client.client_id}`
  await admin.patch(path, { grant_types: ['authorization_code'] })
  const refused = await anonymous.post('/auth/refresh', { refresh_token })
  assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_grant'])
  await admin.patch(path, { grant_types: ['authorization_code', 'refresh_token'] })
  const refresh = await anonymous.post('/auth/refresh', { refresh_token }, basicOf(client))
  assert.equal(refresh.status, 200)
})

test('the exchange applies changes since the code was issued', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, createPerson, client } = fixture
  const narrowed = await obtainCode(fixture)
  await admin.patch(`/admin/clients/${client.client_id}`, { scopes: ['orders:read'] })
  assert.equal((await exchange(fixture, narrowed)).body.scope, 'orders:read')
  const person = await createPerson()
  const stale = await obtainCode({ ...fixture, person })
  await admin.put(`/admin/users/${person.id}/password`, { password: 'another one' })
  assert.equal((await exchange(fixture, stale)).body.error, 'invalid_grant')
  const path = `/admin/clients/${client.client_id}`
  const [removed, late] = [await obtainCode(fixture), await obtainCode(fixture)]
  const redirect_uris = ['https://app.example/other']
  assert.equal((await admin.patch(path, { redirect_uris })).status, 200)
  assert.equal((await exchange(fixture, removed)).body.error, 'invalid_grant')
  assert.equal((await admin.delete(`/admin/clients/${client.client_id}`)).status, 204)
  assert.equal((await exchange(fixture, late)).body.error, 'invalid_client')
})

test('the scopes of a token are common to client, request and person', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const person = await fixture.createPerson({ scopes: ['orders:read', 'events:read'] })
  const request = { scope: 'orders:read orders:write' }
  const { body } = await exchange(fixture, await obtainCode({ ...fixture, person }, request))
  assert.equal(body.scope, 'orders:read')
  const denied = await grantConsent(
    openBrowser(fixture.app),
    authorizePath(fixture.client, { scope: 'orders:write' }),
    person,
  )
  assert.equal(denied.location!.searchParams.get('error'), 'access_denied')
})

test('a public client exchanges a code by its client id, without a secret', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const spa = await fixture.createClient({ public: true })
  assert.equal(Object.hasOwn(spa, 'client_secret'), false)
  const code = await obtainCode(fixture, {}, spa)
  const credential = { client_id: spa.client_id }
  const secret = { ...credential, client_secret: 'made up' }
  assert.equal((await exchange(fixture, code, secret, {})).body.error, 'invalid_client')
  assert.equal((await exchange(fixture, code, {}, {})).body.error, 'invalid_client')
  const { body } = await exchange(fixture, code, credential, {})
  assert.equal(typeof body.refresh_token, 'string')
  const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
  assert.equal(
    (await form(fixture.anonymous, '/oauth/token', { ...refresh, ...credential })).status,
    200,
  )
})

test('without the refresh grant there is no refresh token', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const client = await fixture.createClient({ grant_types: ['authorization_code'] })
  const { body } = await exchange({ ...fixture, client }, await obtainCode({ ...fixture, client }))
  assert.deepEqual(Object.keys(body).sort(), ['access_token', 'expires_in', 'scope', 'token_type'])
})
