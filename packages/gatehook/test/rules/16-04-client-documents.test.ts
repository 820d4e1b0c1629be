/** §16.4: a client id that is a URL names the document of its client; persons decide. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { ADDRESS, clubs, createAccounts } from '../fixtures/clubs.ts'
import {
  codeOf,
  documentEnv,
  exchangeAs,
  open,
  openDocumentHost,
  signIn,
} from '../oauth/document-host.ts'
import {
  authorizePath,
  CALLBACK,
  exchange,
  follow,
  form,
  grantConsent,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'
import { eachMailService } from '../people/mail-rig.ts'

for (const { name } of databases) {
  test(`a document is read after the sign-in; its tokens work and refresh [${name}]`, async (t) => {
    const { host, fixture } = await open(t, name)
    const id = host.document({ client_name: 'Agent' })
    const browser = openBrowser(fixture.app)
    const path = authorizePath({ client_id: id })
    const form1 = await browser.get(path)
    assert.match(form1.text, new RegExp(`to continue to <strong><bdi>127.0.0.1:${host.port}</bdi>`))
    assert.deepEqual(host.requests, [], 'no request before the sign-in')
    const page = await signIn(browser, path, fixture)
    assert.deepEqual(host.requests, ['/client.json'])
    assert.match(page.text, new RegExp(`<h1>Allow <bdi>127.0.0.1:${host.port}</bdi>`))
    assert.match(page.text, /calls itself <strong><bdi>Agent<\/bdi><\/strong>/)
    assert.match(page.text, /return to <strong>app\.example<\/strong>/)
    const back = await browser.submit(page, { action: 'allow' })
    const code = back.location!.searchParams.get('code')!
    const { status, body } = await exchangeAs(fixture, id, code)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.scope, 'users:read orders:read orders:write')
    const bearer = { authorization: `Bearer ${body.access_token}` }
    const me = await fixture.anonymous.get('/api/v1/protected', bearer)
    assert.equal(me.body.user, String(fixture.person.id))
    const sessions = await fixture.anonymous.get('/auth/sessions', bearer)
    assert.equal(sessions.body.error, 'first_party_required')
    const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
    const next = await form(fixture.anonymous, '/oauth/token', { ...refresh, client_id: id })
    assert.equal(next.status, 200, next.text)
    assert.deepEqual(host.requests, ['/client.json'], 'cached')
    const again = await browser.get(path)
    assert.ok(again.location!.searchParams.get('code'), 'the consent is remembered')
  })

  test(`a blocked URL or host is refused everywhere [${name}]`, async (t) => {
    const { host, fixture } = await open(t, name)
    const { admin, anonymous, app } = fixture
    const id = host.document()
    const client = await fixture.createClient()
    for (const [target, subject] of [
      [id, id],
      ['127.0.0.1', id],
      [client.client_id, client.client_id],
    ] as const) {
      const isDocument = subject === id
      const back = await grantConsent(
        openBrowser(app),
        authorizePath({ client_id: subject }),
        fixture.person,
      )
      const code = () => back.location!.searchParams.get('code')!
      const tokens = await (isDocument
        ? exchangeAs(fixture, id, code())
        : exchange({ ...fixture, client }, code()))
      assert.equal(tokens.status, 200, tokens.text)
      const bearer = { authorization: `Bearer ${tokens.body.access_token}` }
      assert.equal((await anonymous.get('/api/v1/protected', bearer)).status, 200)
      const path = `/admin/clients/${encodeURIComponent(target)}`
      const blocked = await admin.patch(path, { blocked: true })
      assert.deepEqual([blocked.status, blocked.body.blocked], [200, true], blocked.text)
      const refused = await anonymous.get('/api/v1/protected', bearer)
      assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_token'], target)
      const refresh = { grant_type: 'refresh_token', refresh_token: tokens.body.refresh_token }
      const secret = isDocument ? {} : { client_secret: client.client_secret }
      const rejected = await form(anonymous, '/oauth/token', {
        ...refresh,
        client_id: subject,
        ...secret,
      })
      assert.deepEqual([rejected.status, rejected.body.error], [401, 'invalid_client'])
      const other = await anonymous.post('/auth/refresh', {
        refresh_token: tokens.body.refresh_token,
      })
      assert.equal(other.status, 401)
      const browser = openBrowser(app)
      const first = await browser.get(authorizePath({ client_id: subject }))
      const page = isDocument
        ? await signIn(browser, authorizePath({ client_id: subject }), fixture)
        : first
      assert.equal(page.status, 400)
      assert.equal(page.location, undefined)
      assert.equal((await admin.patch(path, { blocked: false })).status, 200)
      assert.equal((await anonymous.get('/api/v1/protected', bearer)).status, 200)
    }
    const unknown = await admin.patch('/admin/clients/client_unknown', { blocked: true })
    assert.equal(unknown.status, 404)
    const scopes = { scopes: ['orders:read'] }
    const path = `/admin/clients/${encodeURIComponent(id)}`
    assert.equal((await admin.patch(path, scopes)).status, 422)
    assert.equal((await admin.delete(path)).status, 409)
  })
}

test('applications that no operator has verified share the limit of their person', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_RATE_LIMIT: '20/60' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const statuses: number[] = []
  for (const path of ['/a.json', '/b.json', '/c.json']) {
    const id = host.document({}, path)
    const code = await codeOf(fixture, id)
    const { body } = await exchangeAs(fixture, id, code)
    const headers = { authorization: `Bearer ${body.access_token}` }
    for (let n = 0; n < 20; n++) {
      statuses.push((await fixture.anonymous.get('/api/v2/users', headers)).status)
    }
  }
  assert.equal(statuses.filter((status) => status === 200).length, 20)
  assert.equal(statuses.filter((status) => status === 429).length, 40)
})

test('a name and a host are text on the page, and the host is displayed in ASCII', async (t) => {
  const { host, fixture } = await open(t, 'sqlite')
  const uri = 'https://xn--bcher-kva.example/x'
  host.document({ client_name: '<b>Your bank</b>', redirect_uris: [uri] })
  const path = authorizePath({ client_id: host.id() }, { redirect_uri: uri })
  const page = await signIn(openBrowser(fixture.app), path, fixture)
  assert.match(page.text, /&lt;b&gt;Your bank/)
  assert.match(page.text, /return to <strong>xn--bcher-kva\.example<\/strong>/)
  assert.match(page.text, /its own claim, which nobody has verified/)
})

test('a new name or other redirect URIs need a new consent', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const other = 'https://other.example/callback'
  const both = { redirect_uris: [CALLBACK, other] }
  const browser = openBrowser(fixture.app)
  host.document(both)
  /** Whether the person must consent, after the document is no longer cached. */
  const asks = async (more = {}) => {
    await fixture.admin.post('/admin/clock', { advance_s: 301 })
    const path = authorizePath({ client_id: host.id() }, more)
    const page = await browser.get(path)
    if (page.status === 303) return false
    const consent = /value="allow"/.test(page.text) ? page : await signIn(browser, path, fixture)
    if (consent.status === 303) return false
    const back = await browser.submit(consent, { action: 'allow' })
    assert.ok(back.location!.searchParams.get('code'))
    return true
  }
  assert.equal(await asks(), true)
  assert.equal(await asks(), false)
  assert.equal(await asks({ redirect_uri: other }), true, 'another redirect URI')
  assert.equal(await asks({ redirect_uri: other }), false)
  assert.equal(await asks(), false, 'the first is remembered beside it')
  host.document({ ...both, client_name: 'Another' })
  assert.equal(await asks(), true, 'another name')
  assert.equal(await asks(), false)
  host.document({ client_name: 'Another', redirect_uris: [CALLBACK] })
  assert.equal(await asks(), true, 'another list')
})

test('a document that changes between page and answer is displayed again', async (t) => {
  const host = await openDocumentHost(t)
  const env = { ...documentEnv, GATEHOOK_TEST_CLOCK: '1' }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const browser = openBrowser(fixture.app)
  const page = await signIn(browser, authorizePath({ client_id: host.document() }), fixture)
  host.document({ client_name: 'Your bank' })
  await fixture.admin.post('/admin/clock', { advance_s: 301 })
  const again = await follow(browser, await browser.submit(page, { action: 'allow' }))
  assert.match(again.text, /Your bank/)
  assert.match(again.text, /value="allow"/)
})

test('before the sign-in nothing is sent to the address that a request names', async (t) => {
  const { host, fixture } = await open(t, 'sqlite')
  const id = host.document()
  const browser = openBrowser(fixture.app)
  for (const more of [
    { prompt: 'none' },
    { response_type: 'token' },
    { scope: 'nonsense' },
    { redirect_uri: 'javascript:x' },
    { redirect_uri: 'https://a.example/;script-src *' },
  ]) {
    const page = await browser.get(authorizePath({ client_id: id }, more))
    assert.deepEqual([page.status, page.location], [400, undefined], JSON.stringify(more))
  }
  const page = await browser.get(authorizePath({ client_id: id }))
  const cancelled = await browser.submit(page, { action: 'cancel' })
  assert.deepEqual([cancelled.status, cancelled.location], [400, undefined])
  assert.deepEqual(host.requests, [])
})

for (const { name } of databases) {
  test(`a block of a host reaches every node within two seconds [${name}]`, async (t) => {
    const host = await openDocumentHost(t)
    const url = await freshUrl(t, name)
    const fixture = await openOauthFixture(t, name, { url, env: documentEnv })
    const other = (await openService(t, name, { url, env: documentEnv })).as(undefined)
    const id = host.document()
    const { body } = await exchangeAs(fixture, id, await codeOf(fixture, id))
    const bearer = { authorization: `Bearer ${body.access_token}` }
    const read = () => other.get('/api/v1/protected', bearer)
    assert.equal((await read()).status, 200)
    await fixture.admin.patch('/admin/clients/127.0.0.1', { blocked: true })
    const { status } = await eventually(read, (reply) => reply.status !== 200)
    assert.equal(status, 401)
  })
}

eachMailService(
  'with names per customer the person enters the customer and the mode',
  async (rig) => {
    const accounts = await createAccounts(rig)
    for (const { place, password, id } of accounts) {
      const browser = openBrowser(rig.service.app)
      const page = await browser.get(authorizePath({ client_id: 'https://agent.invalid/c' }))
      assert.match(page.text, /name="customer"/)
      const fields = { username: ADDRESS, password, action: 'sign-in' }
      const without = await browser.submit(page, fields)
      assert.deepEqual([without.status, /organization/.test(without.text)], [400, true])
      const signedIn = await browser.submit(page, { ...fields, ...place })
      assert.equal(signedIn.status, 303, signedIn.text)
      const rows = await rig.service.app.db.all(sql`SELECT subject FROM gh_sign_ins`)
      assert.ok(rows.some(({ subject }) => subject === String(id)))
    }
  },
  { service: clubs },
)

test('persons of two customers share a client id, and nothing else', async (t) => {
  const { host, fixture } = await open(t, 'sqlite')
  const { admin, anonymous } = fixture
  const id = host.document()
  const { body: customer } = await admin.post('/admin/customers', { name: 'Other' })
  const other = await fixture.createPerson({ customer: customer.id, mode: 'test' })
  const claims = async (person: typeof other) => {
    const code = await codeOf({ ...fixture, person }, id)
    const { body } = await exchangeAs(fixture, id, code)
    const { customer, mode } = decodeJwt<{ customer: string; mode: string }>(body.access_token)
    return { customer, mode, refresh: body.refresh_token as string }
  }
  const [own, foreign] = [await claims(fixture.person), await claims(other)]
  assert.deepEqual([own.customer, own.mode], ['cus_default', 'live'])
  assert.deepEqual([foreign.customer, foreign.mode], [customer.id, 'test'])
  const { body: login } = await anonymous.post('/auth/login', {
    username: other.email,
    password: PASSWORD,
  })
  const session = { authorization: `Bearer ${login.access_token}` }
  const { body: consents } = await anonymous.get('/auth/consents', session)
  assert.deepEqual(
    consents.data.map(({ client_id }: { client_id: string }) => client_id),
    [id],
  )
  const path = `/auth/consents/${encodeURIComponent(id)}`
  assert.equal((await anonymous.delete(path, session)).status, 204)
  const refresh = (token: string) =>
    form(anonymous, '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: token,
      client_id: id,
    })
  assert.equal((await refresh(foreign.refresh)).status, 401)
  assert.equal((await refresh(own.refresh)).status, 200)
})

test('it gets resources of this server alone, and the scopes that the service gives', async (t) => {
  const host = await openDocumentHost(t)
  const issuer = 'http://127.0.0.1:9'
  const env = { ...documentEnv, GATEHOOK_AUDIENCE: 'urn:orders', GATEHOOK_PUBLIC_URL: issuer }
  const fixture = await openOauthFixture(t, 'sqlite', { env })
  const id = host.document()
  const audienceOf = async (more = {}) => {
    const { body } = await exchangeAs(fixture, id, await codeOf(fixture, id, more))
    return decodeJwt(body.access_token).aud
  }
  assert.equal(await audienceOf(), issuer)
  assert.equal(await audienceOf({ resource: `${issuer}/api` }), `${issuer}/api`)
  const browser = openBrowser(fixture.app)
  await signIn(browser, authorizePath({ client_id: id }), fixture)
  for (const [more, error] of [
    [{ resource: 'urn:orders' }, 'invalid_target'],
    [{ scope: 'webhooks:read' }, 'invalid_scope'],
    [{ scope: 'admin' }, 'invalid_scope'],
  ] as const) {
    const page = await browser.get(authorizePath({ client_id: id }, more))
    assert.equal(page.location!.searchParams.get('error'), error)
  }
  assert.throws(
    () => declared(['keys:read']),
    /oauth\.documents\.scopes: keys:read is an account scope/,
  )
  assert.deepEqual(declared(['notes:read']).definition.documentScopes, ['notes:read'])
})

const declared = (scopes: readonly string[]) =>
  service({
    name: 'notes',
    versions: { v1: { released: '2026-01-01' } },
    resources: [
      resource('notes', {
        fields: { id: f.id(), text: f.string() },
        list: { filter: [], sort: [] },
        access: {
          read: 'notes:read',
          create: 'notes:write',
          update: 'notes:write',
          delete: 'notes:write',
        },
        events: [],
      }),
    ],
    oauth: { documents: { scopes } },
  })
