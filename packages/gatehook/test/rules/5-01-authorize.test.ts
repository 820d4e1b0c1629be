/** §5.1: what `GET /oauth/authorize` takes, and where it sends the browser when it does not. */
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

test('a wrong client or redirect is a page, 400, and never a redirect', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const tricks: Record<string, string | null>[] = [
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
  for (const more of tricks) {
    const page = await browser.get(authorizePath(client, more))
    const what = JSON.stringify(more)
    assert.equal(page.status, 400, what)
    assert.equal(page.location, undefined, what)
    assert.match(page.headers['content-type']!, /^text\/html/)
    assert.match(page.headers['content-security-policy']!, /frame-ancestors 'none'/)
    assert.doesNotMatch(page.text, /evil\.example|alert\(1\)/, what)
  }
})

test('a parameter that stands twice is a page, 400, even one nobody reads', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const path = authorizePath(client)
  for (const twice of ['client_id', 'redirect_uri', 'state', 'scope=a&scope', 'odd=1&odd']) {
    const page = await openBrowser(app).get(`${path}&${twice}=x`)
    assert.equal(page.status, 400, twice)
    assert.equal(page.location, undefined, twice)
  }
})

const refusals: readonly [more: Record<string, string | null>, error: string][] = [
  [{ response_type: null }, 'invalid_request'],
  [{ response_type: 'token' }, 'unsupported_response_type'],
  [{ response_type: 'code id_token' }, 'unsupported_response_type'],
  [{ response_mode: 'fragment' }, 'invalid_request'],
  [{ scope: 'nothing:read' }, 'invalid_scope'],
  [{ scope: 'orders:read admin' }, 'invalid_scope'],
  [{ scope: ' orders:read' }, 'invalid_scope'],
  // PKCE downgrades: left out, plain by default, plain by name, a challenge that is none.
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
  for (const [more, error] of refusals) {
    const page = await openBrowser(app).get(authorizePath(client, more))
    const what = JSON.stringify(more)
    assert.equal(page.status, 303, what)
    const { origin, pathname, searchParams } = page.location!
    assert.equal(origin + pathname, CALLBACK)
    assert.equal(searchParams.get('error'), error, what)
    assert.equal(searchParams.get('state'), STATE)
    assert.match(searchParams.get('iss')!, ISSUER)
    assert(!searchParams.has('code'))
  }
})

test('a client without the grant, or of a suspended customer, is unauthorized', async (t) => {
  const { admin, app, createClient } = await openOauthFixture(t, 'sqlite')
  const machine = await createClient({ grant_types: ['client_credentials'] })
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const theirs = await createClient({ customer: customer.id })
  await admin.patch(`/admin/customers/${customer.id}`, { suspended: true })
  for (const client of [machine, theirs]) {
    const page = await openBrowser(app).get(authorizePath(client))
    assert.equal(page.location!.searchParams.get('error'), 'unauthorized_client')
  }
})

test('of a loopback address any port is taken, and the redirect keeps its own query', async (t) => {
  const { app, createClient, person } = await openOauthFixture(t, 'sqlite')
  const client = await createClient({
    redirect_uris: ['http://127.0.0.1/callback?tenant=7'],
    public: true,
  })
  const redirect_uri = 'http://127.0.0.1:49152/callback?tenant=7'
  const back = await grantConsent(openBrowser(app), authorizePath(client, { redirect_uri }), person)
  assert.match(back.location!.href, /^http:\/\/127\.0\.0\.1:49152\/callback\?tenant=7&code=/)
})

test('forms are not taken in place of the query', async (t) => {
  const { anonymous, client } = await openOauthFixture(t, 'sqlite')
  const [path, body] = authorizePath(client).split('?')
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const reply = await anonymous.post(path!, body, type)
  assert.equal(reply.status, 405)
  assert.equal(reply.headers.allow, 'GET, HEAD, OPTIONS')
})
