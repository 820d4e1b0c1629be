/** §5.2: the pages on the way of a code: who is it, do they agree; nobody else's word counts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  authorizePath,
  follow,
  grantConsent,
  type OauthFixture,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

const signIn = (email: string, password = PASSWORD) => ({
  username: email,
  password,
  action: 'sign-in',
})

/** A browser at the consent page. */
async function atConsent({ app, client, person }: OauthFixture) {
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  const asked = await follow(browser, await browser.submit(page, signIn(person.email)))
  assert.equal(asked.status, 200)
  return { browser, asked }
}

test('the pages name the client, where it returns to, and the scopes in plain words', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, asked } = await atConsent(fixture)
  assert.match(asked.text, /<strong>app\.example<\/strong>/)
  assert.match(asked.text, /An app/)
  assert.match(asked.text, new RegExp(fixture.person.email))
  assert.match(asked.text, /<li>See your orders<\/li>/)
  assert.match(asked.text, /<li>Create, change and delete your orders<\/li>/)
  assert.doesNotMatch(asked.text, /<script/)
  assert.match(
    asked.headers['content-security-policy']!,
    /form-action 'self' https:\/\/app\.example;/,
  )
  assert.match(asked.headers['content-security-policy']!, /frame-ancestors 'none'/)
  assert.equal(asked.headers['x-frame-options'], 'DENY')
  const [cookie] = browser.cookies
  assert.equal(cookie?.[0], 'gatehook')
})

test('the cookie is HttpOnly and Lax, and new with each sign-in', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  assert.match(String(page.headers['set-cookie']), /; Path=\/; HttpOnly; SameSite=Lax$/)
  const before = browser.cookies.get('gatehook')
  await browser.submit(page, signIn(person.email))
  assert.notEqual(browser.cookies.get('gatehook'), before)
  // What an attacker had the browser hold before is worth nothing after it.
  const fixed = openBrowser(app)
  fixed.cookies.set('gatehook', before!)
  assert.match((await fixed.get(authorizePath(client))).text, /name="password"/)
})

test('a sign-in that succeeds marks the browser with a device cookie (§3.8)', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  const wrong = await browser.submit(page, signIn(person.email, 'wrong'))
  assert.equal(browser.cookies.get('gatehook_device'), undefined)
  await browser.submit(wrong, signIn(person.email))
  const device = browser.cookies.get('gatehook_device')
  assert.match(String(device), /^[\w-]{22}\.[\w-]{43}$/)
  const again = await browser.get(authorizePath(client, { prompt: 'login' }))
  await browser.submit(again, signIn(person.email))
  assert.equal(browser.cookies.get('gatehook_device'), device)
})

test('a sign-in form sent twice leads on; who is not signed in is nobody still', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const form = await browser.get(authorizePath(client))
  await browser.submit(form, signIn(person.email))
  const second = await browser.submit(form, signIn(person.email, 'whatever'))
  assert.match((await follow(browser, second)).text, /value="allow"/)
  const stranger = await openBrowser(app).submit(form, signIn(person.email))
  assert.deepEqual([stranger.status, stranger.location], [403, undefined])
})

test('Cancel is access_denied on both pages, and nothing is remembered', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, asked } = await atConsent(fixture)
  const fresh = openBrowser(fixture.app)
  const page = await fresh.get(authorizePath(fixture.client))
  for (const back of [
    await fresh.submit(page, { action: 'cancel' }),
    await browser.submit(asked, { action: 'cancel' }),
  ]) {
    assert.equal(back.status, 303)
    assert.equal(back.location!.searchParams.get('error'), 'access_denied')
    assert(!back.location!.searchParams.has('code'))
  }
  assert.match((await browser.get(authorizePath(fixture.client))).text, /value="allow"/)
})

test('a wrong password says so, keeps the name, and counts (§3.8)', async (t) => {
  const { app, client, person, anonymous } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  let page = await browser.get(authorizePath(client))
  for (let n = 0; n < 10; n++) {
    page = await browser.submit(page, signIn(person.email, 'wrong'))
    assert.equal(page.status, 403)
    assert.match(page.text, /role="alert"[^>]*>E-mail or password is wrong/)
    assert.match(page.text, new RegExp(`value="${person.email}"`))
    assert.doesNotMatch(page.text, /value="wrong"/)
  }
  page = await browser.submit(page, signIn(person.email))
  assert.equal(page.status, 429)
  assert.match(page.text, /Too many failed attempts. Sign in again in 5 minutes\./)
  assert(Number(page.headers['retry-after']) > 0)
  const login = await anonymous.post('/auth/login', { username: person.email, password: PASSWORD })
  assert.equal(login.status, 429, 'pages, login and Basic count together')
})

test('consent is remembered for what was agreed to, and asked again for more', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const some = authorizePath(client, { scope: 'orders:read' })
  const back = await grantConsent(browser, some, person)
  assert(back.location!.searchParams.has('code'))
  const again = await browser.get(some)
  assert.equal(again.status, 303)
  assert(again.location!.searchParams.has('code'))
  const silent = await browser.get(authorizePath(client, { scope: 'orders:read', prompt: 'none' }))
  assert(silent.location!.searchParams.has('code'))
  const more = await browser.get(authorizePath(client, { scope: 'orders:read orders:write' }))
  assert.match(more.text, /value="allow"/)
  const unasked = await browser.get(
    authorizePath(client, { scope: 'orders:write', prompt: 'none' }),
  )
  assert.equal(unasked.location!.searchParams.get('error'), 'consent_required')
  const forced = await browser.get(
    authorizePath(client, { scope: 'orders:read', prompt: 'consent' }),
  )
  assert.match(forced.text, /value="allow"/)
  const anew = await browser.get(authorizePath(client, { scope: 'orders:read', prompt: 'login' }))
  assert.match(anew.text, /name="password"/)
  const done = await browser.submit(anew, signIn(person.email))
  assert.equal((await follow(browser, done)).status, 303, 'asked to sign in once, not for ever')
})

test('a public app on the machine is asked about each time: another may stand there', async (t) => {
  const { app, createClient, person } = await openOauthFixture(t, 'sqlite')
  const redirect_uri = 'http://127.0.0.1:7777/callback'
  const client = await createClient({ public: true, redirect_uris: ['http://127.0.0.1/callback'] })
  const browser = openBrowser(app)
  await grantConsent(browser, authorizePath(client, { redirect_uri }), person)
  assert.match((await browser.get(authorizePath(client, { redirect_uri }))).text, /value="allow"/)
})

test('a person of another customer or mode is told so, nothing is granted (§4.8)', async (t) => {
  const { admin, app, createClient, createPerson, person } = await openOauthFixture(t, 'sqlite')
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const cases = [
    { client: await createClient({ customer: customer.id }), says: /another organization/ },
    { client: await createClient({ mode: 'test' }), says: /is for test accounts/ },
  ]
  for (const { client, says } of cases) {
    const browser = openBrowser(app)
    const page = await browser.get(authorizePath(client))
    const told = await browser.submit(page, signIn(person.email))
    assert.equal(told.status, 403)
    assert.match(told.text, says)
    const still = await browser.get(authorizePath(client))
    assert.match(still.text, /name="password"/)
  }
  // Signed in at a client of its own, it is still nobody at the other.
  const own = await createClient()
  const browser = openBrowser(app)
  await grantConsent(browser, authorizePath(own), person)
  const told = await browser.get(authorizePath(cases[0]!.client))
  assert.match(told.text, /another organization/)
  assert.doesNotMatch(told.text, /value="allow"/)
  const theirs = await createPerson({ customer: customer.id })
  const back = await grantConsent(openBrowser(app), authorizePath(cases[0]!.client), theirs)
  assert(back.location!.searchParams.has('code'))
})

test('Use another account signs out', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, asked } = await atConsent(fixture)
  const page = await follow(browser, await browser.submit(asked, { action: 'switch' }))
  assert.match(page.text, /name="password"/)
})

test('a changed password, a disabled or deleted person ends the sign-in', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, person } = fixture
  const { browser, asked } = await atConsent(fixture)
  const changed = await admin.put(`/admin/users/${person.id}/password`, { password: 'another one' })
  assert.equal(changed.status, 204, changed.text)
  const back = await browser.submit(asked, { action: 'allow' })
  assert.equal(back.location?.pathname, '/oauth/authorize')
  assert.match((await follow(browser, back)).text, /name="password"/)
})

test('CSRF on login: a form that is not of this browser’s own page signs nobody in', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const attacker = openBrowser(app)
  const theirs = await attacker.get(authorizePath(client))
  const ticket = /name="ticket" value="([^"]+)"/.exec(theirs.text)![1]!
  const victim = openBrowser(app)
  const own = await victim.get(authorizePath(client))
  const mine = /name="ticket" value="([^"]+)"/.exec(own.text)![1]!
  const forged: [fields: Record<string, string>, headers?: Record<string, string>][] = [
    [{}],
    [{ ticket: '' }],
    [{ ticket: 'x' }],
    [{ ticket }],
    [{ ticket: `${mine.slice(0, -2)}AA` }],
    [{ ticket: mine }, { 'sec-fetch-site': 'cross-site' }],
    [{ ticket: mine }, { 'sec-fetch-site': 'same-site' }],
  ]
  for (const [fields, headers] of forged) {
    const all = { ...signIn(person.email), ...fields }
    const page = await victim.post('/oauth/sign-in', all, headers)
    assert.equal(page.status, 403, JSON.stringify(fields))
    assert.equal(page.location, undefined)
  }
  const without = await openBrowser(app).post('/oauth/sign-in', {
    ...signIn(person.email),
    ticket: mine,
  })
  assert.equal(without.status, 403)
  const good = await victim.post(
    '/oauth/sign-in',
    { ...signIn(person.email), ticket: mine },
    { 'sec-fetch-site': 'same-origin' },
  )
  assert.equal(good.status, 303)
})

test('CSRF on consent: nobody else’s ticket, no sign-in ticket, no change of hands', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { app, client, createPerson } = fixture
  const victim = await atConsent(fixture)
  const other = await atConsent({ ...fixture, person: await createPerson() })
  const ticketOf = (text: string) => /name="ticket" value="([^"]+)"/.exec(text)![1]!
  const foreign = { ticket: ticketOf(other.asked.text), action: 'allow' }
  assert.equal((await victim.browser.post('/oauth/consent', foreign)).status, 403)
  const page = await openBrowser(app).get(authorizePath(client))
  const wrong = { ticket: ticketOf(page.text), action: 'allow' }
  assert.equal((await victim.browser.post('/oauth/consent', wrong)).status, 403)
  const cross = { ticket: ticketOf(victim.asked.text), action: 'allow' }
  const blocked = await victim.browser.post('/oauth/consent', cross, {
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(blocked.status, 403)
  for (const action of ['', 'Allow', 'yes']) {
    const page = await victim.browser.submit(victim.asked, { action })
    assert.equal(page.status, 400)
  }
})

test('a page that stood open too long has expired', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env: { GATEHOOK_TEST_CLOCK: '1' } })
  const { browser, asked } = await atConsent(fixture)
  const fresh = openBrowser(fixture.app)
  const page = await fresh.get(authorizePath(fixture.client))
  await fixture.admin.post('/admin/clock', { advance_s: 601 })
  assert.equal((await browser.submit(asked, { action: 'allow' })).status, 403)
  assert.equal((await fresh.submit(page, signIn(fixture.person.email))).status, 403)
  assert.match((await browser.get(authorizePath(fixture.client))).text, /name="password"/)
})

test('behind TLS the cookie is Secure and of this host alone', async (t) => {
  const env = {
    GATEHOOK_PUBLIC_URL: 'https://api.example.com',
    GATEHOOK_TRUST_PROXY: '127.0.0.1',
  }
  const { app, client } = await openOauthFixture(t, 'sqlite', { env })
  const proxied = {
    host: 'api.example.com',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '203.0.113.9',
  }
  const page = await openBrowser(app).get(authorizePath(client), proxied)
  assert.match(
    String(page.headers['set-cookie']),
    /^__Host-gatehook=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
  )
  // The name that is good over plain HTTP is nobody's here.
  const forced = await openBrowser(app).get(authorizePath(client), {
    ...proxied,
    cookie: `gatehook=${'a'.repeat(43)}`,
  })
  assert.match(String(forced.headers['set-cookie']), /^__Host-gatehook=/)
})
