/** §16.6: a device without a browser gets tokens after its person has consented elsewhere. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt } from 'jose'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type Reply } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { ADDRESS, clubs, createAccounts } from '../fixtures/clubs.ts'
import {
  createDeviceClient,
  DEVICE_GRANTS,
  DEVICE_PAGE,
  decide,
  deviceOf,
  enterCode,
} from '../oauth/device-rig.ts'
import { basicOf, follow, form, openBrowser, openOauthFixture } from '../oauth/rig.ts'
import { openPeople } from '../people/rig.ts'

const CODE = /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/
const clock = { env: { GATEHOOK_TEST_CLOCK: '1' } }
const WRONG = 'BBBB-BBBB'

for (const { name } of databases) {
  test(`a person connects a device, which is never first-party [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, anonymous, admin, person } = fixture
    const members = { first_party: true, scopes: ['orders:read', 'orders:write', 'webhooks:read'] }
    const client = await createDeviceClient(fixture, members)
    const scopes = ['orders:read', 'webhooks:read']
    assert.equal((await admin.patch(`/admin/users/${person.id}`, { scopes })).status, 200)
    const { request, poll } = deviceOf(fixture, client)
    const { status, body, headers } = await request()
    const { issuer } = (await anonymous.get('/.well-known/oauth-authorization-server')).body
    assert.equal(status, 200)
    assert.equal(headers['cache-control'], 'no-store')
    assert.match(body.user_code, CODE)
    const { device_code, user_code, ...more } = body
    assert.deepEqual(more, {
      verification_uri: `${issuer}/oauth/device`,
      verification_uri_complete: `${issuer}/oauth/device?user_code=${user_code}`,
      expires_in: 600,
      interval: 5,
    })
    assert.equal((await poll(device_code)).body.error, 'authorization_pending')
    await admin.post('/admin/clock', { advance_s: 185, freeze: true })
    const browser = openBrowser(app)
    const page = await enterCode(browser, user_code.toLowerCase().replace('-', ''), person)
    for (const text of ['TV app', user_code, '127.0.0.1', '3 minutes ago', 'Did somebody send you'])
      assert.ok(page.text.includes(text), text)
    assert.ok(!page.text.includes('<script'))
    assert.match(page.headers['content-security-policy']!, /default-src 'none'/)
    const done = await browser.submit(page, { action: 'allow' })
    assert.match(done.text, /is connected/)
    const tokens = (await poll(device_code)).body
    assert.equal(tokens.scope, 'orders:read')
    // The code works once, and consent is necessary each time.
    assert.equal((await poll(device_code)).body.error, 'invalid_grant')
    const second = (await request()).body
    assert.match((await enterCode(browser, second.user_code, person)).text, /value="allow"/)
    // A client of the operator: its tokens reach account endpoints only by other grants.
    const refreshed = (
      await form(anonymous, '/oauth/token', {
        grant_type: 'refresh_token',
        client_id: client.client_id,
        refresh_token: tokens.refresh_token,
      })
    ).body
    for (const { access_token } of [tokens, refreshed]) {
      const bearer = { authorization: `Bearer ${access_token}` }
      assert.equal(decodeJwt(access_token).third_party, true)
      assert.equal((await anonymous.get('/api/v2/orders', bearer)).status, 200)
      assert.equal((await anonymous.get('/auth/sessions', bearer)).status, 403)
      assert.equal((await anonymous.get('/webhooks', bearer)).status, 403)
    }
  })

  test(`a device gets ID tokens of the sign-in of its person [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, admin, person } = fixture
    const { request, poll } = deviceOf(fixture, await createDeviceClient(fixture))
    const tokensOf = async (scope?: string) => {
      const { device_code, user_code } = (await request(scope ? { scope } : {})).body
      const browser = openBrowser(app)
      const page = await enterCode(browser, user_code, person)
      await admin.post('/admin/clock', { advance_s: 7, freeze: true })
      await browser.submit(page, { action: 'allow' })
      return (await poll(device_code)).body
    }
    await admin.post('/admin/clock', { advance_s: 0, freeze: true })
    const { id_token, access_token } = await tokensOf('openid orders:read')
    const { iat, auth_time, sub, email } = decodeJwt(id_token)
    assert.deepEqual(
      [sub, email, Number(iat) - Number(auth_time)],
      [String(person.id), undefined, 7],
    )
    assert.equal(decodeJwt(access_token).third_party, true)
    assert.equal((await tokensOf()).id_token, undefined)
    assert.equal((await tokensOf('orders:read')).id_token, undefined)
  })

  test(`each reason of a poll without tokens has its error [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, admin, person } = fixture
    const client = await createDeviceClient(fixture)
    const { request, poll } = deviceOf(fixture, client)
    const errorOf = async (code: string) => (await poll(code)).body.error
    const advance = (advance_s: number) => admin.post('/admin/clock', { advance_s, freeze: true })
    await advance(0)
    const { device_code: slow } = (await request()).body
    assert.equal(await errorOf(slow), 'authorization_pending')
    await advance(5)
    assert.equal(await errorOf(slow), 'authorization_pending')
    await advance(4)
    assert.equal(await errorOf(slow), 'slow_down')
    // From now on the interval is 10 s.
    await advance(9)
    assert.equal(await errorOf(slow), 'slow_down')
    await advance(15)
    assert.equal(await errorOf(slow), 'authorization_pending')
    const other = deviceOf(fixture, await createDeviceClient(fixture))
    assert.equal((await other.poll(slow)).body.error, 'invalid_grant')
    assert.equal(await errorOf('unknown'), 'invalid_grant')
    assert.equal((await poll('')).body.error, 'invalid_request')
    const denied = (await request()).body
    const page = await decide(openBrowser(app), denied.user_code, person, 'cancel')
    assert.match(page.text, /Nothing was connected/)
    assert.equal(await errorOf(denied.device_code), 'access_denied')
    const late = (await request()).body
    await decide(openBrowser(app), late.user_code, person)
    await advance(600)
    for (const code of [slow, denied.device_code, late.device_code]) {
      assert.equal(await errorOf(code), 'expired_token')
    }
    const gone = await enterCode(openBrowser(app), late.user_code, person)
    assert.match(gone.text, /No device waits for this code/)
  })

  test(`a code is of its client, and of nobody after ten minutes [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, admin, person } = fixture
    const own = deviceOf(fixture, await createDeviceClient(fixture))
    const other = deviceOf(fixture, await createDeviceClient(fixture))
    const approve = async () => {
      const { device_code, user_code } = (await own.request()).body
      await decide(openBrowser(app), user_code, person)
      return device_code
    }
    const approved = await approve()
    assert.equal((await other.poll(approved)).body.error, 'invalid_grant')
    assert.equal((await own.poll(approved)).status, 200)
    const [unused, late] = [await approve(), (await own.request()).body]
    await admin.post('/admin/clock', { advance_s: 600, freeze: true })
    assert.equal((await own.poll(unused)).body.error, 'expired_token')
    const page = await enterCode(openBrowser(app), late.user_code, person)
    assert.match(page.text, /No device waits for this code/)
  })

  test(`an approval ends with what it depends on [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { app, admin, anonymous, createPerson } = fixture
    const approve = async (client = createDeviceClient(fixture)) => {
      const { request, poll } = deviceOf(fixture, await client)
      const person = await createPerson()
      const { device_code, user_code } = (await request()).body
      await decide(openBrowser(app), user_code, person)
      const { client_id } = await client
      return { person, client_id, error: async () => (await poll(device_code)).body.error }
    }
    const changed = await approve()
    await admin.put(`/admin/users/${changed.person.id}/password`, { password: 'another one 12345' })
    assert.equal(await changed.error(), 'invalid_grant')
    const blocked = await approve()
    await admin.patch(`/admin/clients/${blocked.client_id}`, { blocked: true })
    assert.equal(await blocked.error(), 'invalid_client')
    const revoked = await approve()
    const { email: username } = revoked.person
    const login = { username, password: 'correct horse battery' }
    const { access_token } = (await anonymous.post('/auth/login', login)).body
    const bearer = { authorization: `Bearer ${access_token}` }
    const path = `/auth/consents/${revoked.client_id}`
    assert.equal((await anonymous.delete(path, bearer)).status, 204)
    assert.equal(await revoked.error(), 'invalid_grant')
  })

  test(`only registered clients with the grant request codes [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { anonymous, client: confidential, createClient, person, app } = fixture
    const plain = await createClient({ public: true })
    const { body } = await deviceOf(fixture, plain).request()
    assert.equal(body.error, 'unauthorized_client')
    const polled = await deviceOf(fixture, plain).poll('x')
    assert.equal(polled.body.error, 'unauthorized_client')
    assert.equal((await deviceOf(fixture, confidential).request()).status, 401)
    const send = (fields: Record<string, string>) =>
      form(anonymous, '/oauth/device_authorization', fields, basicOf(confidential))
    assert.equal((await send({})).status, 200)
    const { request, poll } = deviceOf(fixture, await createDeviceClient(fixture))
    assert.equal((await request({ scope: 'webhooks:read' })).body.error, 'invalid_scope')
    assert.equal((await request({ resource: 'urn:other' })).body.error, 'invalid_target')
    const { issuer } = (await anonymous.get('/.well-known/oauth-authorization-server')).body
    const codes = (await request({ resource: `${issuer}/api`, scope: 'orders:read' })).body
    await decide(openBrowser(app), codes.user_code, person)
    const wider = await poll(codes.device_code, { resource: issuer })
    assert.equal(wider.body.error, 'invalid_target')
    const { access_token } = (await poll(codes.device_code)).body
    assert.equal(decodeJwt(access_token).aud, `${issuer}/api`)
  })

  test(`a page that no longer holds connects nothing [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, admin, person, createPerson } = fixture
    const { body: acme } = await admin.post('/admin/customers', { name: 'Acme' })
    const place = { customer: acme.id, mode: 'test' }
    const client = await createDeviceClient(fixture, place)
    const { request, poll } = deviceOf(fixture, client)
    const { user_code, device_code } = (await request()).body
    const foreign = await enterCode(openBrowser(app), user_code, person)
    assert.doesNotMatch(foreign.text, /value="allow"/, 'a person of another customer')
    assert.match(foreign.text, /belongs to another organization/)
    const without = await createPerson({ ...place, scopes: ['webhooks:read'] })
    const powerless = await enterCode(openBrowser(app), user_code, without)
    assert.match(powerless.text, /has none of the permissions/)
    const own = await createPerson(place)
    const browser = openBrowser(app)
    const page = await enterCode(browser, user_code, own)
    await admin.patch(`/admin/clients/${client.client_id}`, { name: 'Another' })
    assert.equal((await browser.submit(page, { action: 'allow' })).status, 403, 'a new name')
    const again = await enterCode(browser, user_code, own)
    await admin.patch(`/admin/clients/${client.client_id}`, { scopes: ['users:write'] })
    assert.equal((await browser.submit(again, { action: 'allow' })).status, 403, 'other scopes')
    await admin.patch(`/admin/customers/${acme.id}`, { suspended: true })
    const isRefused = ({ body }: Reply) => body.error === 'unauthorized_client'
    await eventually(() => poll(device_code), isRefused)
    const gone = await browser.get(`${DEVICE_PAGE}?user_code=${user_code}`)
    assert.match(gone.text, /<h1>Sign in/, 'the session of a suspended customer')
    assert.doesNotMatch(gone.text, /value="allow"/)
  })

  test(`guesses and open codes have limits [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, person } = fixture
    const { request } = deviceOf(fixture, await createDeviceClient(fixture))
    const { user_code } = (await request()).body
    const enter = async (browser: ReturnType<typeof openBrowser>, code: string) =>
      (await browser.post(DEVICE_PAGE, { user_code: code })).status
    for (let session = 0; session < 4; session++) {
      const browser = openBrowser(app)
      await enterCode(browser, WRONG, person)
      for (let count = 1; count < 5; count++) assert.equal(await enter(browser, WRONG), 400)
      assert.equal(await enter(browser, user_code), 429, 'the session')
    }
    const browser = openBrowser(app)
    const page = await enterCode(browser, user_code, person)
    assert.equal(page.status, 429, 'the address')
    assert.match(page.headers['retry-after']!, /^\d+$/)
    const others = await Promise.all(Array.from({ length: 12 }, () => request()))
    assert.deepEqual(others.map(({ status }) => status).toSorted(), [
      ...Array(9).fill(200),
      ...Array(3).fill(429),
    ])
  })

  test(`a decided or expired code frees its place at its address [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, clock)
    const { app, admin, person } = fixture
    const { request } = deviceOf(fixture, await createDeviceClient(fixture))
    await admin.post('/admin/clock', { advance_s: 0, freeze: true })
    const statuses = async (count: number) => {
      const replies = await Promise.all(Array.from({ length: count }, () => request()))
      return replies.map(({ status }) => status)
    }
    const { user_code } = (await request()).body
    assert.deepEqual(await statuses(9), Array(9).fill(200))
    const full = await request()
    assert.deepEqual([full.status, full.headers['retry-after']], [429, '600'])
    await decide(openBrowser(app), user_code, person, 'cancel')
    assert.deepEqual(await statuses(1), [200])
    assert.equal((await request()).status, 429)
    await admin.post('/admin/clock', { advance_s: 600, freeze: true })
    assert.deepEqual((await statuses(11)).toSorted(), [...Array(10).fill(200), 429])
  })

  test(`a request for codes waits for no row of its client [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { app } = fixture
    const { client_id } = await createDeviceClient(fixture)
    const { request } = deviceOf(fixture, { client_id })
    const whileLocked = async (body: () => Promise<void>) => {
      const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const locked = app.db.write(async (tx) => {
        await tx.lock(sql`SELECT client_id FROM gh_clients WHERE client_id = ${client_id}`)
        held.resolve()
        await released.promise
      })
      await held.promise
      await body().finally(() => released.resolve())
      await locked
    }
    for (let count = 0; count < 9; count++) assert.equal((await request()).status, 200)
    const last = async () => assert.equal((await request()).status, 200)
    // SQLite has one writer.
    await (name === 'sqlite' ? last() : whileLocked(last))
    await whileLocked(async () => assert.equal((await request()).status, 429))
  })

  test(`no form works for another browser, and none twice [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { app, person, createPerson } = fixture
    const { request, poll } = deviceOf(fixture, await createDeviceClient(fixture))
    const { user_code, device_code } = (await request()).body
    const [own, foreign] = [openBrowser(app), openBrowser(app)]
    const page = await enterCode(own, user_code, person)
    await enterCode(foreign, user_code, await createPerson())
    assert.equal((await foreign.submit(page, { action: 'allow' })).status, 403)
    const crossSite = { 'sec-fetch-site': 'cross-site' }
    const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)![1]!
    assert.equal((await own.post(DEVICE_PAGE, { ticket, action: 'allow' }, crossSite)).status, 403)
    assert.equal((await own.submit(page, { action: 'other' })).status, 400)
    assert.equal((await own.submit(page, { action: 'allow' })).status, 200)
    assert.equal((await own.submit(page, { action: 'cancel' })).status, 403)
    assert.equal((await poll(device_code)).status, 200)
    const rows = await app.db.all(sql`SELECT * FROM gh_device_grants`)
    const text = JSON.stringify(rows)
    assert.ok(!text.includes(user_code.replace('-', '')) && !text.includes(device_code))
  })

  test(`with names per customer the code leads to the customer [${name}]`, async (t) => {
    const service = await openService(t, name, { service: clubs })
    const rig = await openPeople(service)
    const anonymous = service.as(undefined)
    const [{ place, id, password } = assert.fail(), elsewhere] = await createAccounts(rig)
    const { body: client } = await rig.operator.post('/admin/clients', {
      ...place,
      name: 'TV app',
      scopes: ['members:read'],
      public: true,
      grant_types: DEVICE_GRANTS,
    })
    const { request, poll } = deviceOf({ anonymous }, client)
    const { user_code, device_code } = (await request()).body
    const browser = openBrowser(service.app)
    assert.match((await browser.get(DEVICE_PAGE)).text, /name="user_code"/)
    const signIn = await browser.post(DEVICE_PAGE, { user_code })
    assert.match(signIn.text, /to continue to .*TV app/)
    const fields = { username: ADDRESS, action: 'sign-in' }
    const wrong = await browser.submit(signIn, { ...fields, password: elsewhere!.password })
    assert.equal(wrong.status, 403)
    const page = await follow(browser, await browser.submit(wrong, { ...fields, password }))
    assert.equal((await browser.submit(page, { action: 'allow' })).status, 200)
    const { access_token } = (await poll(device_code)).body
    const { sub, customer, mode } = decodeJwt(access_token)
    assert.deepEqual({ sub, customer, mode }, { sub: String(id), ...place })
  })
}
