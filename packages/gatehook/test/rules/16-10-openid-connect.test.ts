/** §16.10: the scope `openid` yields an ID token, whose claims the other scopes open. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { databases } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { createDeviceClient, deviceOf } from '../oauth/device-rig.ts'
import {
  authorizePath,
  basicOf,
  type Client,
  exchange,
  form,
  grantConsent,
  type OauthFixture,
  obtainCode,
  openBrowser,
  openOauthFixture,
} from '../oauth/rig.ts'

const ISSUER = 'https://api.example.com'
const env = { GATEHOOK_PUBLIC_URL: ISSUER, GATEHOOK_TEST_CLOCK: '1' }

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Returns the tokens of a person who consents to the scopes. */
async function tokensFor(
  fixture: OauthFixture,
  scope: string,
  more: Record<string, string> = {},
  client: Client = fixture.client,
) {
  const code = await obtainCode(fixture, { scope, ...more }, client)
  const { status, body, text } = await exchange(fixture, code, {}, basicOf(client))
  assert.equal(status, 200, text)
  return body
}

const PERSON = { name: 'A person' }
/** An administrator has created the person. */
const MAIL = { email: 'person1@example.com', email_verified: true }

for (const { name } of databases) {
  test(`an ID token states the sign-in; each scope opens its claims [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { anonymous, person } = fixture
    const keys = createLocalJWKSet((await anonymous.get('/.well-known/jwks.json')).body)
    const es256 = await fixture.createClient({ id_token_signed_response_alg: 'ES256' })
    for (const [client, alg, scope, claims] of [
      [fixture.client, 'RS256', 'openid', {}],
      [fixture.client, 'RS256', 'openid profile', PERSON],
      [fixture.client, 'RS256', 'orders:read openid email', MAIL],
      [es256, 'ES256', 'openid profile email offline_access', { ...PERSON, ...MAIL }],
    ] as const) {
      const tokens = await tokensFor(fixture, scope, { nonce: 'n-0S6_WzA2Mj' }, client)
      assert.equal(tokens.scope, scope)
      const { payload, protectedHeader } = await jwtVerify(tokens.id_token, keys, {
        issuer: ISSUER,
        audience: client.client_id,
      })
      assert.equal(protectedHeader.alg, alg)
      const { iat, exp, auth_time, at_hash, ...rest } = payload
      const sub = String(person.id)
      const common = { iss: ISSUER, sub, aud: client.client_id, nonce: 'n-0S6_WzA2Mj' }
      assert.deepEqual(rest, { ...common, ...claims })
      const digest = createHash('sha256').update(tokens.access_token).digest()
      assert.equal(at_hash, digest.subarray(0, 16).toString('base64url'))
      assert.equal(exp! - iat!, tokens.expires_in)
      assert.ok(Number(auth_time) <= iat! && iat! - Number(auth_time) < 60)
      for (const method of ['GET', 'POST']) {
        const userinfo = await anonymous.send(
          method,
          '/oauth/userinfo',
          undefined,
          bearer(tokens.access_token),
        )
        assert.deepEqual([userinfo.status, userinfo.body], [200, { sub, ...claims }])
        assert.equal(userinfo.headers['cache-control'], 'no-store')
      }

      const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      await fixture.admin.post('/admin/clock', { advance_s: 5 })
      const refreshed = await form(anonymous, '/oauth/token', fields, basicOf(client))
      const next = decodeJwt(refreshed.body.id_token)
      assert.deepEqual(
        [next.sub, next.auth_time, next.nonce, next.iat! > iat!],
        [sub, auth_time, undefined, true],
        'the sign-in is the same (OpenID Connect Core §12.2)',
      )
      const narrowed = await form(
        anonymous,
        '/oauth/token',
        { ...fields, refresh_token: refreshed.body.refresh_token, scope: 'openid' },
        basicOf(client),
      )
      assert.equal(narrowed.body.scope, 'openid')
      assert.deepEqual(decodeJwt(narrowed.body.id_token).name, undefined)
    }
  })

  test(`a client requests a recent sign-in, or one of a person [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { client, person, app, admin } = fixture
    const browser = openBrowser(app)
    const scope = 'openid'
    await grantConsent(browser, authorizePath(client, { scope }), person)
    const own = (await tokensFor(fixture, scope)).id_token
    const es256 = await fixture.createClient({ id_token_signed_response_alg: 'ES256' })
    const ownEs256 = (await tokensFor(fixture, scope, {}, es256)).id_token
    const other = await fixture.createPerson()
    const ofOther = (await tokensFor({ ...fixture, person: other }, scope)).id_token
    await admin.post('/admin/clock', { advance_s: 60 })
    const [head, payload] = own.split('.')
    const accessToken = (await tokensFor(fixture, scope)).access_token
    for (const [more, isAccepted, hasNoPage = isAccepted] of [
      [{}, true],
      [{ max_age: '600' }, true],
      [{ max_age: '30' }, false],
      [{ max_age: '0' }, false],
      [{ id_token_hint: own }, true],
      [{ id_token_hint: ownEs256 }, true],
      [{ id_token_hint: ofOther }, false],
      [{ id_token_hint: accessToken }, false, true],
      [{ id_token_hint: 'no.token.at.all' }, false, true],
      [{ id_token_hint: `${head}.${payload}.AAAA` }, false, true],
      [{ id_token_hint: `${head}.${ofOther.split('.')[1]}.${own.split('.')[2]}` }, false, true],
    ] as const) {
      const silent = await browser.get(authorizePath(client, { scope, prompt: 'none', ...more }))
      const error = silent.location?.searchParams.get('error')
      assert.equal(error, isAccepted ? null : 'login_required', JSON.stringify(more))
      const page = await browser.get(authorizePath(client, { scope, ...more }))
      assert.equal(page.status, hasNoPage ? 303 : 200, JSON.stringify(more))
      if (!hasNoPage) assert.match(page.text, /name="password"/)
    }
    // The sign-in satisfies the request, whose ID token says when it was.
    const back = await grantConsent(browser, authorizePath(client, { scope, max_age: '0' }), person)
    const code = back.location!.searchParams.get('code')!
    const { auth_time, iat } = decodeJwt((await exchange(fixture, code)).body.id_token)
    assert.ok(iat! - Number(auth_time) < 60)
  })
}

test('no client gets identity scopes without their names, and none without persons', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { client, anonymous, admin } = fixture
  const tokens = await tokensFor(fixture, 'orders:read')
  assert.equal(tokens.id_token, undefined)
  const all = await exchange(fixture, await obtainCode(fixture))
  assert.equal(all.body.scope, 'users:read orders:read orders:write')
  assert.equal(all.body.id_token, undefined)
  for (const scope of ['openid', 'orders:read profile']) {
    const fields = { grant_type: 'client_credentials', scope }
    const { status, body } = await form(anonymous, '/oauth/token', fields, basicOf(client))
    assert.deepEqual([status, body.error], [400, 'invalid_scope'])
  }
  const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const wider = { ...fields, scope: 'orders:read openid' }
  const refused = await form(anonymous, '/oauth/token', wider, basicOf(client))
  assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_scope'])
  const members = { name: 'x', scopes: ['openid'] }
  assert.equal((await admin.post('/admin/keys', members)).status, 422)
})

test('userinfo needs the token of a person with openid', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const { anonymous, client, admin, person } = fixture
  const { access_token, id_token, refresh_token } = await tokensFor(fixture, 'openid')
  const plain = await tokensFor(fixture, 'orders:read')
  const narrow = await tokensFor(fixture, 'openid', { resource: `${ISSUER}/api` })
  const ofClient = await form(
    anonymous,
    '/oauth/token',
    { grant_type: 'client_credentials' },
    basicOf(client),
  )
  const metadata = `resource_metadata="${ISSUER}/.well-known/oauth-protected-resource"`
  const challenge = (error: string | undefined) =>
    error === 'insufficient_scope'
      ? `Bearer error="${error}", scope="openid", ${metadata}`
      : `Bearer ${error ? `error="${error}", ` : ''}${metadata}, scope="openid"`
  const read = (headers: Record<string, string>) => anonymous.get('/oauth/userinfo', headers)
  for (const [headers, status, error] of [
    [{}, 401, undefined],
    [basicOf(client), 401, undefined],
    [bearer('x'), 401, 'invalid_token'],
    [bearer(id_token), 401, 'invalid_token'],
    [bearer(refresh_token), 401, 'invalid_token'],
    [bearer(narrow.access_token), 401, 'invalid_token'],
    [bearer(plain.access_token), 403, 'insufficient_scope'],
    [bearer(ofClient.body.access_token), 403, 'insufficient_scope'],
  ] as const) {
    const reply = await read(headers)
    assert.equal(reply.status, status, reply.text)
    assert.equal(reply.headers['www-authenticate'], challenge(error))
  }
  assert.equal((await anonymous.get('/api/v2/protected', bearer(id_token))).status, 401)
  assert.equal((await read(bearer(access_token))).status, 200)
  await admin.patch(`/admin/users/${person.id}`, { disabled: true })
  const ended = await read(bearer(access_token))
  assert.deepEqual([ended.status, ended.body.error], [401, 'invalid_token'])
})

test('a bad parameter returns to the client as invalid_request', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  for (const more of [
    { max_age: '-1' },
    { max_age: '1.5' },
    { max_age: '1e3' },
    { max_age: '99999999999' },
    { nonce: 'a\tb' },
    { nonce: 'n'.repeat(1001) },
    { prompt: 'none login' },
  ]) {
    const page = await browser.get(authorizePath(client, { scope: 'openid', ...more }))
    assert.equal(page.location?.searchParams.get('error'), 'invalid_request', JSON.stringify(more))
  }
})

test('POST /oauth/authorize is GET with a form', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const path = authorizePath(client, { scope: 'openid', login_hint: person.email })
  const fields = Object.fromEntries(new URLSearchParams(path.split('?')[1]))
  const page = await browser.post('/oauth/authorize', fields)
  assert.equal(page.status, 200)
  assert.match(page.text, /value="person1@example.com"/)
  await grantConsent(browser, path, person)
  assert(
    (await browser.post('/oauth/authorize', fields)).location?.searchParams.has('code'),
    'the person is signed in, and has consented',
  )
  const foreign = await browser.post('/oauth/authorize', fields, { 'sec-fetch-site': 'cross-site' })
  assert.equal(foreign.status, 303)
  const repeated = `${foreign.location!.pathname}${foreign.location!.search}`
  assert((await browser.get(repeated)).location?.searchParams.has('code'))
  const inQuery = await browser.post(path, fields)
  assert.equal(inQuery.status, 400)
})

test('the consent page says what the scopes open', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const scope = 'openid profile email offline_access'
  const form = await browser.get(authorizePath(client, { scope }))
  const fields = { username: person.email, password: 'correct horse battery', action: 'sign-in' }
  const { location } = await browser.submit(form, fields)
  const { text } = await browser.get(location!.pathname + location!.search)
  for (const words of ['Recognize you', 'your name', 'your e-mail address', 'while you are away']) {
    assert.ok(text.includes(words), words)
  }
})

test('discovery is complete; GATEHOOK_OPENID=off removes it with all else', async (t) => {
  const on = await openOauthFixture(t, 'sqlite', { env })
  const { body, headers } = await on.anonymous.get('/.well-known/openid-configuration')
  assert.match(headers['cache-control']!, /max-age/)
  // OpenID Connect Discovery §3, all that is required or recommended here.
  assert.equal(body.issuer, ISSUER)
  assert.equal(body.userinfo_endpoint, `${ISSUER}/oauth/userinfo`)
  assert.deepEqual(body.subject_types_supported, ['public'])
  assert.deepEqual(body.id_token_signing_alg_values_supported, ['RS256', 'ES256'])
  const openid = ['openid', 'profile', 'email', 'offline_access']
  assert.deepEqual(body.scopes_supported.slice(-4), openid)
  for (const claim of ['sub', 'auth_time', 'nonce', 'at_hash', 'name', 'email', 'email_verified']) {
    assert.ok(body.claims_supported.includes(claim), claim)
  }
  assert.equal(body.claims_parameter_supported, false)

  const off = await openOauthFixture(t, 'sqlite', { env: { ...env, GATEHOOK_OPENID: 'off' } })
  for (const path of ['/.well-known/openid-configuration', '/oauth/userinfo']) {
    assert.equal((await off.anonymous.get(path)).status, 404, path)
  }
  const metadata = (await off.anonymous.get('/.well-known/oauth-authorization-server')).body
  assert.equal(metadata.userinfo_endpoint, undefined)
  assert.ok(!metadata.scopes_supported.includes('openid'))
  const page = await openBrowser(off.app).get(authorizePath(off.client, { scope: 'openid' }))
  assert.equal(page.location?.searchParams.get('error'), 'invalid_scope')
  const device = deviceOf(off, await createDeviceClient(off))
  assert.equal((await device.request({ scope: 'openid' })).body.error, 'invalid_scope')
})

for (const { name } of databases) {
  test(`a session has the instant of its sign-in without ID tokens [${name}]`, async (t) => {
    const off = { ...env, GATEHOOK_OPENID: 'off', GATEHOOK_TEST_CLOCK: '1' }
    const fixture = await openOauthFixture(t, name, { env: off })
    const { admin, app } = fixture
    await admin.post('/admin/clock', { advance_s: 0, freeze: true })
    const signedInAt = Date.parse((await admin.get('/admin/clock')).body.now)
    const code = await obtainCode(fixture, { scope: 'orders:read' })
    await admin.post('/admin/clock', { advance_s: 30, freeze: true })
    assert.equal((await exchange(fixture, code)).status, 200)
    const rows = await app.db.arrays(sql`SELECT authenticated_at FROM gh_sessions`)
    assert.deepEqual(
      rows.map(([at]) => Number(at)),
      [signedInAt],
    )
  })
}

test('a client that registers itself chooses the algorithm', async (t) => {
  const options = { env: { GATEHOOK_CLIENT_REGISTRATION: 'open' } }
  const fixture = await openOauthFixture(t, 'sqlite', options)
  const register = (id_token_signed_response_alg: unknown) =>
    fixture.anonymous.post('/oauth/register', {
      client_name: 'Agent',
      redirect_uris: ['https://app.example/callback'],
      id_token_signed_response_alg,
    })
  const { body } = await register('ES256')
  assert.equal(body.id_token_signed_response_alg, 'ES256')
  const tokens = await tokensFor(fixture, 'openid', {}, body)
  assert.equal(decodeProtectedHeader(tokens.id_token).alg, 'ES256')
  for (const alg of ['none', 'HS256', 'PS256', 7]) {
    const { status, body } = await register(alg)
    assert.deepEqual([status, body.error], [400, 'invalid_client_metadata'], String(alg))
  }
})
