/** §5.1: the parameters of `GET /oauth/authorize`, and the response to invalid ones. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  authorizePath,
  CALLBACK,
  CHALLENGE,
  grantConsent,
  openBrowser,
  openOauthFixture,
  STATE,
  VERIFIER,
} from '../oauth/rig.ts'

const ISSUER = /^http:\/\/127\.0\.0\.1:\d+$/

test('success is 303 with code, state and iss', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const back = await grantConsent(openBrowser(app), authorizePath(client), person)
  assert.equal(back.status, 303)
  const { origin, pathname, searchParams } = back.location!
  assert.equal(origin + pathname, CALLBACK)
  assert.deepEqual([...searchParams.keys()].sort(), ['code', 'iss', 'state'])
  assert.equal(searchParams.get('state'), STATE)
  assert.match(searchParams.get('iss')!, ISSUER)
  assert.match(searchParams.get('code')!, /^[\w-]{43}$/)
  assert.equal(back.headers['referrer-policy'], 'no-referrer')
  assert.equal(back.headers['cache-control'], 'no-store')
})

test('an invalid client or redirect URI is an error page with 400, never a redirect', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const invalidParameters: Record<string, string | null>[] = [
    { client_id: 'client_0000000000000000000000' },
    { client_id: null },
    { client_id: "' OR 1=1 --" },
    { redirect_uri: null },
    ...[
      ['of another host', 'https://evil.example/callback'],
      ['with the right beginning', `${CALLBACK}.evil.example`],
      ['with a longer path', `${CALLBACK}/more`],
      ['with a slash at the end', `${CALLBACK}/`],
      ['with a query', `${CALLBACK}?more=1`],
      ['with a fragment', `${CALLBACK}#`],
      ['with a user name', 'https://app.example@evil.example/callback'],
      ['in capitals', 'https://APP.EXAMPLE/callback'],
      ['with a dot at the end of its host', 'https://app.example./callback'],
      ['with its port', 'https://app.example:443/callback'],
      ['encoded', 'https://app.example/%63allback'],
      ['without TLS', 'http://app.example/callback'],
      ['without a scheme', '//app.example/callback'],
      ['that is a script', 'javascript:alert(1)'],
    ].map(([, redirect_uri]) => ({ redirect_uri: redirect_uri! })),
  ]
  for (const more of invalidParameters) {
    const page = await browser.get(authorizePath(client, more))
    const label = JSON.stringify(more)
    assert.equal(page.status, 400, label)
    assert.equal(page.location, undefined, label)
    assert.match(page.headers['content-type']!, /^text\/html/)
    assert.match(page.headers['content-security-policy']!, /frame-ancestors 'none'/)
    assert.doesNotMatch(page.text, /evil\.example|alert\(1\)/, label)
  }
})

test('a repeated parameter is an error page with 400, even an unknown one', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const path = authorizePath(client)
  for (const parameter of ['client_id', 'redirect_uri', 'state', 'scope=a&scope', 'odd=1&odd']) {
    const page = await openBrowser(app).get(`${path}&${parameter}=x`)
    assert.equal(page.status, 400, parameter)
    assert.equal(page.location, undefined, parameter)
  }
})

const errorCases: readonly [more: Record<string, string | null>, error: string][] = [
  [{ response_type: null }, 'invalid_request'],
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: 'code id_token' }, 'unsupported_response_type'],
  [{ response_mode: 'fragment' }, 'invalid_request'],
  [{ scope: 'nothing:read' }, 'invalid_scope'],
  [{ scope: 'orders:read admin' }, 'invalid_scope'],
  [{ scope: ' orders:read' }, 'invalid_scope'],
  // PKCE downgrades: no challenge, plain by default, plain by name, a malformed challenge.
  [{ code_challenge: null, code_challenge_method: null }, 'invalid_request'],
  [{ code_challenge: null }, 'invalid_request'],
  [{ code_challenge: '' }, 'invalid_request'],
  [{ code_challenge_method: null }, 'invalid_request'],
  [{ code_challenge_method: 'plain', code_challenge: VERIFIER }, 'invalid_request'],
  [{ code_challenge_method: 's256' }, 'invalid_request'],
  [{ code_challenge: `${CHALLENGE}=` }, 'invalid_request'],
  [{ code_challenge: 'short' }, 'invalid_request'],
  [{ prompt: 'none' }, 'login_required'],
  [{ prompt: 'none login' }, 'invalid_request'],
  [{ prompt: 'odd' }, 'invalid_request'],
  [{ request: 'eyJhbGciOiJub25lIn0.e30.' }, 'request_not_supported'],
  [{ request_uri: 'urn:example:1' }, 'request_uri_not_supported'],
  [{ request_uri: 'urn:example:1', response_type: null }, 'request_uri_not_supported'],
]

test('other errors redirect with error, state and iss', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  for (const [more, error] of errorCases) {
    const page = await openBrowser(app).get(authorizePath(client, more))
    const label = JSON.stringify(more)
    assert.equal(page.status, 303, label)
    const { origin, pathname, searchParams } = page.location!
    assert.equal(origin + pathname, CALLBACK)
    assert.equal(searchParams.get('error'), error, label)
    assert.equal(searchParams.get('state'), STATE)
    assert.match(searchParams.get('iss')!, ISSUER)
    assert(!searchParams.has('code'))
  }
})

test('a client without the grant, or of a suspended customer, is not authorized', async (t) => {
  const { admin, app, createClient } = await openOauthFixture(t, 'sqlite')
  const clientWithoutGrant = await createClient({ grant_types: ['client_credentials'] })
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const suspendedClient = await createClient({ customer: customer.id })
  await admin.patch(`/admin/customers/${customer.id}`, { suspended: true })
  for (const client of [clientWithoutGrant, suspendedClient]) {
    const page = await openBrowser(app).get(authorizePath(client))
    assert.equal(page.location!.searchParams.get('error'), 'unauthorized_client')
  }
})

test('the port of a loopback address may differ; the redirect retains its query', async (t) => {
  const { app, createClient, person } = await openOauthFixture(t, 'sqlite')
  const client = await createClient({
    redirect_uris: ['http://127.0.0.1/callback?tenant=7'],
    public: true,
  })
  const redirect_uri = 'http://127.0.0.1:49152/callback?tenant=7'
  const back = await grantConsent(openBrowser(app), authorizePath(client, { redirect_uri }), person)
  assert.match(back.location!.href, /^http:\/\/127\.0\.0\.1:49152\/callback\?tenant=7&code=/)
})

test('PUT is 405', async (t) => {
  const { anonymous, client } = await openOauthFixture(t, 'sqlite')
  const reply = await anonymous.send('PUT', authorizePath(client))
  assert.equal(reply.status, 405)
  assert.equal(reply.headers.allow, 'GET, HEAD, POST, OPTIONS')
})
