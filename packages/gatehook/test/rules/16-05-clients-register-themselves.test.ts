/** §16.5: clients register themselves where the operator allows it; persons trust them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { databases } from '../../../../test/rig/databases.ts'
import { makeSpace, purgeUnusedClients } from '../../src/identity/oauth/client-registration.ts'
import { deleteNeverUsed, recordUse } from '../../src/identity/oauth/client-store.ts'
import type { Database, Statement, Tx } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { signIn } from '../oauth/document-host.ts'
import {
  authorizePath,
  CALLBACK,
  exchange,
  form,
  grantConsent,
  type OauthFixture,
  openBrowser,
  openOauthFixture,
} from '../oauth/rig.ts'

const METADATA = {
  client_name: 'Agent',
  redirect_uris: [CALLBACK],
  token_endpoint_auth_method: 'none',
  software_id: 'unknown members are ignored',
  grant_types: ['authorization_code', 'refresh_token', 'urn:unknown'],
}
const PATH = '/oauth/register'
const open = { env: { GATEHOOK_CLIENT_REGISTRATION: 'open', GATEHOOK_TEST_CLOCK: '1' } }
const byToken = { env: { GATEHOOK_CLIENT_REGISTRATION: 'token' } }

async function tokensOf(
  fixture: OauthFixture,
  client: { client_id: string },
  person = fixture.person,
) {
  const back = await grantConsent(openBrowser(fixture.app), authorizePath(client), person)
  const code = back.location!.searchParams.get('code')!
  const { status, body, text } = await exchange(fixture, code, { client_id: client.client_id }, {})
  assert.equal(status, 200, text)
  return body as { access_token: string; refresh_token: string; scope: string }
}

for (const { name } of databases) {
  test(`an open registration is of no customer, and its consent says so [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, open)
    const { anonymous, admin } = fixture
    const { status, body, headers } = await anonymous.post(PATH, METADATA)
    assert.equal(status, 201)
    assert.equal(headers['cache-control'], 'no-store')
    const { client_id, client_id_issued_at, ...rest } = body
    assert.match(client_id, /^client_/)
    assert.equal(typeof client_id_issued_at, 'number')
    assert.deepEqual(rest, {
      client_name: 'Agent',
      redirect_uris: [CALLBACK],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'RS256',
      scope: 'users:read orders:read orders:write',
    })
    const trail = (await admin.get(`/admin/audit?target=${client_id}`)).body.data
    assert.deepEqual(
      trail.map(({ action, principal }: { action: string; principal: { kind: string } }) => [
        action,
        principal.kind,
      ]),
      [['client.register', 'anonymous']],
    )
    const page = await signIn(openBrowser(fixture.app), authorizePath(body), fixture)
    assert.match(page.text, /<h1>Allow <bdi>app\.example<\/bdi>/)
    assert.match(page.text, /calls itself <strong><bdi>Agent<\/bdi>/)
    const tokens = await tokensOf(fixture, body)
    const claims = decodeJwt<{ customer: string }>(tokens.access_token)
    assert.equal(claims.customer, 'cus_default')
    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token, client_id }
    assert.equal((await form(anonymous, '/oauth/token', refresh)).status, 200)
    const { body: customer } = await admin.post('/admin/customers', { name: 'Other' })
    const other = await fixture.createPerson({ customer: customer.id })
    const foreign = await tokensOf(fixture, body, other)
    const foreignClaims = decodeJwt<{ customer: string }>(foreign.access_token)
    assert.equal(foreignClaims.customer, customer.id)
    assert.equal((await admin.delete(`/admin/clients/${client_id}`)).status, 204)
    const bearer = { authorization: `Bearer ${foreign.access_token}` }
    assert.equal((await anonymous.get('/api/v1/protected', bearer)).status, 401)
    const ended = await form(anonymous, '/oauth/token', refresh)
    assert.equal(ended.status, 401)
  })

  test(`a key registers a client of its customer and mode [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, byToken)
    const { anonymous, admin } = fixture
    const keyOf = async (scopes: string[]) =>
      (await admin.post('/admin/keys', { name: 'k', scopes, mode: 'test' })).body.key as string
    const key = await keyOf(['clients:write'])
    for (const headers of [{ 'x-api-key': key }, { authorization: `Bearer ${key}` }]) {
      const { status, body, text } = await anonymous.post(
        PATH,
        { client_name: 'Agent', redirect_uris: [CALLBACK] },
        headers,
      )
      assert.equal(status, 201, text)
      assert.equal(body.token_endpoint_auth_method, 'client_secret_basic')
      assert.deepEqual([typeof body.client_secret, body.client_secret_expires_at], ['string', 0])
      const row = await admin.get(`/admin/clients/${body.client_id}`)
      assert.deepEqual(
        [row.body.customer, row.body.mode, row.body.source, row.body.first_party],
        ['cus_default', 'test', 'registration', false],
      )
      const fields = { grant_type: 'client_credentials', client_id: body.client_id }
      const { client_secret } = body
      const own = await form(anonymous, '/oauth/token', { ...fields, client_secret })
      assert.equal(own.body.error, 'unauthorized_client')
    }
    const refused = await anonymous.post(PATH, METADATA, { 'x-api-key': await keyOf([]) })
    assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
    for (const headers of [{}, { 'x-api-key': 'gk_test_x' }, { authorization: 'Bearer x' }]) {
      const reply = await anonymous.post(PATH, METADATA, headers)
      assert.deepEqual([reply.status, reply.body.error], [401, 'invalid_token'])
      assert.match(reply.headers['www-authenticate']!, /^Bearer .*scope="clients:write"/)
    }
  })
}

test('an open registration rejects an invalid credential, also in the URL', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', open)
  const sent: readonly (readonly [
    path: string,
    headers: Record<string, string>,
    status: number,
  ])[] = [
    [PATH, { 'x-api-key': 'gk_test_x' }, 401],
    [PATH, { authorization: 'Bearer x' }, 401],
    [`${PATH}?api_key=gk_test_x`, {}, 401],
    [`${PATH}?api_key=`, {}, 401],
    [`${PATH}?access_token=x`, {}, 400],
    [PATH, {}, 201],
  ]
  for (const [path, headers, status] of sent) {
    const reply = await anonymous.post(path, METADATA, headers)
    assert.equal(reply.status, status, `${path} ${JSON.stringify(headers)}: ${reply.text}`)
  }
})

test('a stranger registers no address to which links to this server lead', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', open)
  const { anonymous, admin, client } = fixture
  const { body: stranger } = await anonymous.post(PATH, METADATA)
  const { key } = (await admin.post('/admin/keys', { name: 'k', scopes: ['clients:write'] })).body
  const { body: own } = await anonymous.post(PATH, METADATA, { 'x-api-key': key })
  const mistakes = [
    { prompt: 'none' },
    { response_type: 'token' },
    { scope: 'nonsense' },
    { code_challenge: null },
    { request: 'x' },
  ]
  const browser = openBrowser(fixture.app)
  for (const more of mistakes) {
    const page = await browser.get(authorizePath(stranger, more))
    assert.deepEqual([page.status, page.location], [400, undefined], JSON.stringify(more))
    for (const other of [client, own]) {
      const back = await browser.get(authorizePath(other, more))
      assert.ok(back.location?.searchParams.has('error'), JSON.stringify(more))
    }
  }
  const form = await browser.get(authorizePath(stranger))
  const cancelled = await browser.submit(form, { action: 'cancel' })
  assert.deepEqual([cancelled.status, cancelled.location], [400, undefined])
  // After the sign-in, errors redirect to the client.
  await signIn(browser, authorizePath(stranger), fixture)
  const back = await browser.get(authorizePath(stranger, { scope: 'nonsense' }))
  assert.equal(back.location?.searchParams.get('error'), 'invalid_scope')
})

test('each mistake has the code of RFC 7591, and stores nothing', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', byToken)
  const { anonymous, admin } = fixture
  const members = { name: 'k', scopes: ['clients:write'] }
  const { key } = (await admin.post('/admin/keys', members)).body
  const before = (await admin.get('/admin/clients')).body.data.length
  for (const [change, error] of [
    [{ client_name: undefined }, 'invalid_client_metadata'],
    [{ client_name: 'a\u202Eb' }, 'invalid_client_metadata'],
    [{ client_name: 'a'.repeat(61) }, 'invalid_client_metadata'],
    [{ token_endpoint_auth_method: 'magic' }, 'invalid_client_metadata'],
    [{ grant_types: ['client_credentials'] }, 'invalid_client_metadata'],
    [{ grant_types: 'authorization_code' }, 'invalid_client_metadata'],
    [{ response_types: ['token'] }, 'invalid_client_metadata'],
    [{ redirect_uris: undefined }, 'invalid_redirect_uri'],
    [{ redirect_uris: [] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [CALLBACK, 'javascript:x'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: ['http://app.example/'] }, 'invalid_redirect_uri'],
    [{ redirect_uris: [`${CALLBACK}?code=x`] }, 'invalid_redirect_uri'],
    [{ logo_uri: 'a'.repeat(10_240) }, 'invalid_client_metadata'],
  ] as const) {
    const reply = await anonymous.post(PATH, { ...METADATA, ...change }, { 'x-api-key': key })
    assert.deepEqual([reply.status, reply.body.error], [400, error], JSON.stringify(change))
  }
  assert.equal((await admin.get('/admin/clients')).body.data.length, before)
})

test('it is off by default, and the metadata names it only where it is on', async (t) => {
  for (const [options, isOn] of [
    [{}, false],
    [byToken, true],
    [open, true],
  ] as const) {
    const { anonymous } = await openOauthFixture(t, 'sqlite', options)
    const { body } = await anonymous.get('/.well-known/oauth-authorization-server')
    assert.equal('registration_endpoint' in body, isOn)
    if (!isOn) assert.equal((await anonymous.post(PATH, METADATA)).status, 404)
  }
})

test('an invalid key is refused where a request without one would register', async (t) => {
  const { anonymous } = await openOauthFixture(t, 'sqlite', open)
  for (const headers of [{ 'x-api-key': 'gk_test_x' }, { authorization: 'Bearer x' }]) {
    const { status, body } = await anonymous.post(PATH, METADATA, headers)
    assert.deepEqual([status, body.error], [401, 'invalid_token'])
  }
})

test('of 10,000 open clients the oldest that was never used makes space', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', open)
  const { anonymous, admin, app } = fixture
  const register = async () => (await anonymous.post(PATH, METADATA)).body.client_id as string
  const used = await register()
  await tokensOf(fixture, { client_id: used })
  const unused = await register()
  await app.db.write((tx) =>
    tx.run(sql`INSERT INTO gh_clients (client_id, name, redirect_uris, scopes, grant_types, public,
      source, created_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
      WHERE i < 9998) SELECT 'client_' || i, 'x', '[]', '[]', '[]', 1, 'registration',
      ${Date.parse('2999-01-01')} FROM n`),
  )
  const newest = await register()
  const statusOf = async (id: string) => (await admin.get(`/admin/clients/${id}`)).status
  const statuses = [await statusOf(used), await statusOf(unused), await statusOf(newest)]
  assert.deepEqual(statuses, [200, 404, 200])
  const countClients = async () =>
    (await app.db.arrays(sql`SELECT client_id FROM gh_clients`)).length
  const count = await countClients()
  // Another registration evicts the same client first.
  let isTaken = false
  await app.db.write((tx) => {
    const lock = async (statement: Statement) => {
      const row = await tx.lock(statement)
      if (isTaken) return row
      isTaken = true
      assert.ok(await deleteNeverUsed(tx, String(row!.client_id)))
      return undefined
    }
    const later = {
      lock: lock as Tx['lock'],
      get: tx.get.bind(tx),
      run: tx.run.bind(tx),
    } as Tx
    return makeSpace(later, undefined)
  })
  // The other one, whose client is not counted here, left space for its own.
  assert.deepEqual([isTaken, count - (await countClients())], [true, 2])
})

test('an address registers 10 clients an hour; unused ones end after 90 days', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', open)
  const { anonymous, admin, app } = fixture
  const ids: string[] = []
  for (let n = 0; n < 10; n++) ids.push((await anonymous.post(PATH, METADATA)).body.client_id)
  const refused = await anonymous.post(PATH, METADATA)
  assert.equal(refused.status, 429)
  assert.ok(Number(refused.headers['retry-after']) > 0)
  const [first = '', second = ''] = ids
  await tokensOf(fixture, { client_id: first })
  await admin.post('/admin/clock', { advance_s: 89 * 86_400 })
  await tokensOf(fixture, { client_id: second })
  await admin.post('/admin/clock', { advance_s: 2 * 86_400 })
  const { now } = (await admin.get('/admin/clock')).body
  assert.equal(await purgeUnusedClients(app.db, Date.parse(now)), 9)
  const left = (await admin.get('/admin/clients?source=registration')).body.data
  assert.deepEqual(
    left.map(({ client_id }: { client_id: string }) => client_id),
    [second],
  )
})

test('a client that gets tokens after the purge has listed it stays', async (t) => {
  const { anonymous, app } = await openOauthFixture(t, 'sqlite', open)
  const { client_id: id } = (await anonymous.post(PATH, METADATA)).body
  const later = Date.now() + 91 * 86_400_000
  const db = {
    ...app.db,
    all: async (statement: Statement) => {
      const rows = await app.db.all(statement)
      await app.db.write((tx) => recordUse(tx, id, later))
      return rows
    },
  } as Database
  assert.equal(await purgeUnusedClients(db, later), 0)
  const statement = sql`SELECT client_id FROM gh_clients WHERE client_id = ${id}`
  assert.deepEqual(await app.db.all(statement), [{ client_id: id }])
  assert.equal(await app.db.write((tx) => deleteNeverUsed(tx, id)), false)
  assert.equal(await purgeUnusedClients(app.db, later + 91 * 86_400_000), 1)
})

test('addresses together register 1,000 clients an hour', async (t) => {
  const { app, admin, anonymous } = await openOauthFixture(t, 'sqlite', open)
  const register = async (n: number, payload: object = METADATA) => {
    const remoteAddress = `127.1.0.${n}`
    const headers = { host: 'localhost' }
    const request = { method: 'POST', url: PATH, headers, payload, remoteAddress } as const
    const reply = await app.inject(request)
    return { status: reply.statusCode, wait: Number(reply.headers['retry-after']) }
  }
  // A mistake counts for its address only.
  for (let n = 0; n < 10; n++) assert.equal((await register(201, {})).status, 400)
  assert.equal((await register(201)).status, 429)
  for (let n = 0; n < 1000; n++) assert.equal((await register(1 + (n % 100))).status, 201)
  assert.equal((await register(202, {})).status, 400)
  const refused = await register(200)
  assert.equal(refused.status, 429)
  assert.ok(refused.wait > 0 && refused.wait <= 3600, String(refused.wait))
  assert.equal((await anonymous.post(PATH, METADATA)).status, 429)
  const { key } = (await admin.post('/admin/keys', { name: 'k', scopes: ['clients:write'] })).body
  assert.equal((await anonymous.post(PATH, METADATA, { 'x-api-key': key })).status, 201)
  await admin.post('/admin/clock', { advance_s: 3601 })
  assert.equal((await register(200)).status, 201)
})

test('the audit row of a registration has at most 500 bytes of its claims', async (t) => {
  const { app, anonymous } = await openOauthFixture(t, 'sqlite', open)
  const long = (n: number) => `https://${`${n}${'h'.repeat(40)}.`.repeat(4)}example/cb?p=`
  const most = (uris: string[], bytes: number) =>
    uris.map((uri) => uri + 'a'.repeat(Math.floor(bytes / uris.length) - uri.length - 3))
  for (const claims of [
    { redirect_uris: most([long(1), long(2), long(3), long(4), long(5)], 9500) },
    { redirect_uris: Array.from({ length: 50 }, (_, n) => `https://x${n}.example/cb`) },
    { client_name: '\u{1F511}'.repeat(60), redirect_uris: [long(1), 'com.example.app:/cb'] },
    { client_name: '\\'.repeat(60), redirect_uris: [`com.${'a'.repeat(1000)}:/cb`, CALLBACK] },
    { software_id: 'x'.repeat(9000), redirect_uris: [CALLBACK] },
  ]) {
    const { status, body, text } = await anonymous.post(PATH, { ...METADATA, ...claims })
    assert.equal(status, 201, text)
    const row = await app.db.get(
      sql`SELECT detail FROM gh_audit WHERE target = ${body.client_id as string}`,
    )
    const detail = String(row!.detail)
    assert.ok(Buffer.byteLength(detail) <= 500, detail.slice(0, 600))
    const { name, redirect_uris, redirect_hosts } = JSON.parse(detail)
    assert.equal(name, body.client_name)
    assert.equal(redirect_uris, claims.redirect_uris.length)
    assert.ok(redirect_hosts.length > 0)
  }
})
