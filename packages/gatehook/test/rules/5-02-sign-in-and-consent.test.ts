/** §5.2: the sign-in page and the consent page, and their protection against forged requests. */
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

/** Signs in, and returns the browser with the consent page. */
async function openConsentPage({ app, client, person }: OauthFixture) {
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  const consentPage = await follow(browser, await browser.submit(page, signIn(person.email)))
  assert.equal(consentPage.status, 200)
  return { browser, consentPage }
}

test('the consent page names the client, its host, and the scopes in plain words', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, consentPage } = await openConsentPage(fixture)
  assert.match(consentPage.text, /<strong>app\.example<\/strong>/)
  assert.match(consentPage.text, /An app/)
  assert.match(consentPage.text, new RegExp(fixture.person.email))
  assert.match(consentPage.text, /<li>See your orders<\/li>/)
  assert.match(consentPage.text, /<li>Create and change your orders<\/li>/)
  assert.doesNotMatch(consentPage.text, /<script/)
  assert.match(
    consentPage.headers['content-security-policy']!,
    /form-action 'self' https:\/\/app\.example;/,
  )
  assert.match(consentPage.headers['content-security-policy']!, /frame-ancestors 'none'/)
  assert.equal(consentPage.headers['x-frame-options'], 'DENY')
  const [cookie] = browser.cookies
  assert.equal(cookie?.[0], 'gatehook')
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`the consent page gives the lifetime of the access [${kind}]`, async (t) => {
    const { consentPage } = await openConsentPage(await openOauthFixture(t, kind))
    const sentence = 'The access lasts 30 days at most and ends after 14 days without use.'
    assert.ok(consentPage.text.includes(sentence), consentPage.text)
  })
}

test('the cookie is HttpOnly and Lax, and changes with each sign-in', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  assert.match(String(page.headers['set-cookie']), /; Path=\/; HttpOnly; SameSite=Lax$/)
  const before = browser.cookies.get('gatehook')
  await browser.submit(page, signIn(person.email))
  assert.notEqual(browser.cookies.get('gatehook'), before)
  // Session fixation: a cookie set before the sign-in is not signed in after it.
  const fixated = openBrowser(app)
  fixated.cookies.set('gatehook', before!)
  assert.match((await fixated.get(authorizePath(client))).text, /name="password"/)
})

test('a successful sign-in sets a device cookie (§3.8)', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const page = await browser.get(authorizePath(client))
  const failed = await browser.submit(page, signIn(person.email, 'wrong'))
  assert.equal(browser.cookies.get('gatehook_device'), undefined)
  await browser.submit(failed, signIn(person.email))
  const device = browser.cookies.get('gatehook_device')
  assert.match(String(device), /^[\w-]{22}\.[\w-]{43}$/)
  const repeated = await browser.get(authorizePath(client, { prompt: 'login' }))
  await browser.submit(repeated, signIn(person.email))
  assert.equal(browser.cookies.get('gatehook_device'), device)
})

test('a repeated sign-in form continues in its own browser only', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const form = await browser.get(authorizePath(client))
  await browser.submit(form, signIn(person.email))
  const second = await browser.submit(form, signIn(person.email, 'whatever'))
  assert.match((await follow(browser, second)).text, /value="allow"/)
  const stranger = await openBrowser(app).submit(form, signIn(person.email))
  assert.deepEqual([stranger.status, stranger.location], [403, undefined])
})

test('Cancel is access_denied on both pages, and stores no consent', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, consentPage } = await openConsentPage(fixture)
  const otherBrowser = openBrowser(fixture.app)
  const page = await otherBrowser.get(authorizePath(fixture.client))
  for (const back of [
    await otherBrowser.submit(page, { action: 'cancel' }),
    await browser.submit(consentPage, { action: 'cancel' }),
  ]) {
    assert.equal(back.status, 303)
    assert.equal(back.location!.searchParams.get('error'), 'access_denied')
    assert(!back.location!.searchParams.has('code'))
  }
  assert.match((await browser.get(authorizePath(fixture.client))).text, /value="allow"/)
})

test('a wrong password yields a notice, retains the name, and counts (§3.8)', async (t) => {
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

test('a consent covers the scopes that it granted; more scopes require another', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const browser = openBrowser(app)
  const readPath = authorizePath(client, { scope: 'orders:read' })
  const back = await grantConsent(browser, readPath, person)
  assert(back.location!.searchParams.has('code'))
  const repeated = await browser.get(readPath)
  assert.equal(repeated.status, 303)
  assert(repeated.location!.searchParams.has('code'))
  const silent = await browser.get(authorizePath(client, { scope: 'orders:read', prompt: 'none' }))
  assert(silent.location!.searchParams.has('code'))
  const more = await browser.get(authorizePath(client, { scope: 'orders:read orders:write' }))
  assert.match(more.text, /value="allow"/)
  const withoutConsent = await browser.get(
    authorizePath(client, { scope: 'orders:write', prompt: 'none' }),
  )
  assert.equal(withoutConsent.location!.searchParams.get('error'), 'consent_required')
  const forced = await browser.get(
    authorizePath(client, { scope: 'orders:read', prompt: 'consent' }),
  )
  assert.match(forced.text, /value="allow"/)
  const signInPage = await browser.get(
    authorizePath(client, { scope: 'orders:read', prompt: 'login' }),
  )
  assert.match(signInPage.text, /name="password"/)
  const done = await browser.submit(signInPage, signIn(person.email))
  assert.equal((await follow(browser, done)).status, 303, 'one sign-in satisfies the prompt')
})

test('a person of another customer or mode gets a notice and no code (§4.8)', async (t) => {
  const { admin, app, createClient, createPerson, person } = await openOauthFixture(t, 'sqlite')
  const { body: customer } = await admin.post('/admin/customers', { name: 'Elsewhere' })
  const cases = [
    { client: await createClient({ customer: customer.id }), expected: /another organization/ },
    { client: await createClient({ mode: 'test' }), expected: /is for test accounts/ },
  ]
  for (const { client, expected } of cases) {
    const browser = openBrowser(app)
    const page = await browser.get(authorizePath(client))
    const notice = await browser.submit(page, signIn(person.email))
    assert.equal(notice.status, 403)
    assert.match(notice.text, expected)
    const signInPage = await browser.get(authorizePath(client))
    assert.match(signInPage.text, /name="password"/)
  }
  // A sign-in at a client of the person's customer does not apply to the other client.
  const own = await createClient()
  const browser = openBrowser(app)
  await grantConsent(browser, authorizePath(own), person)
  const notice = await browser.get(authorizePath(cases[0]!.client))
  assert.match(notice.text, /another organization/)
  assert.doesNotMatch(notice.text, /value="allow"/)
  const attackerPage = await createPerson({ customer: customer.id })
  const back = await grantConsent(openBrowser(app), authorizePath(cases[0]!.client), attackerPage)
  assert(back.location!.searchParams.has('code'))
})

test('Use another account signs out', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { browser, consentPage } = await openConsentPage(fixture)
  const page = await follow(browser, await browser.submit(consentPage, { action: 'switch' }))
  assert.match(page.text, /name="password"/)
})

test('a changed password ends the sign-in session', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { admin, person } = fixture
  const { browser, consentPage } = await openConsentPage(fixture)
  const changed = await admin.put(`/admin/users/${person.id}/password`, { password: 'another one' })
  assert.equal(changed.status, 204, changed.text)
  const back = await browser.submit(consentPage, { action: 'allow' })
  assert.equal(back.location?.pathname, '/oauth/authorize')
  assert.match((await follow(browser, back)).text, /name="password"/)
})

test('CSRF on sign-in: a form without a ticket of this browser is 403', async (t) => {
  const { app, client, person } = await openOauthFixture(t, 'sqlite')
  const attacker = openBrowser(app)
  const attackerPage = await attacker.get(authorizePath(client))
  const ticket = /name="ticket" value="([^"]+)"/.exec(attackerPage.text)![1]!
  const victim = openBrowser(app)
  const own = await victim.get(authorizePath(client))
  const ownTicket = /name="ticket" value="([^"]+)"/.exec(own.text)![1]!
  const forged: [fields: Record<string, string>, headers?: Record<string, string>][] = [
    [{}],
    [{ ticket: '' }],
    [{ ticket: 'x' }],
    [{ ticket }],
    [{ ticket: ownTicket.slice(0, -1) + (ownTicket.endsWith('A') ? 'Q' : 'A') }],
    [{ ticket: ownTicket }, { 'sec-fetch-site': 'cross-site' }],
    [{ ticket: ownTicket }, { 'sec-fetch-site': 'same-site' }],
  ]
  for (const [fields, headers] of forged) {
    const all = { ...signIn(person.email), ...fields }
    const page = await victim.post('/oauth/sign-in', all, headers)
    assert.equal(page.status, 403, JSON.stringify(fields))
    assert.equal(page.location, undefined)
  }
  const withoutCookie = await openBrowser(app).post('/oauth/sign-in', {
    ...signIn(person.email),
    ticket: ownTicket,
  })
  assert.equal(withoutCookie.status, 403)
  const accepted = await victim.post(
    '/oauth/sign-in',
    { ...signIn(person.email), ticket: ownTicket },
    { 'sec-fetch-site': 'same-origin' },
  )
  assert.equal(accepted.status, 303)
})

test('CSRF on consent: a ticket of another browser or page is 403', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite')
  const { app, client, createPerson } = fixture
  const victim = await openConsentPage(fixture)
  const other = await openConsentPage({ ...fixture, person: await createPerson() })
  const ticketOf = (text: string) => /name="ticket" value="([^"]+)"/.exec(text)![1]!
  const foreign = { ticket: ticketOf(other.consentPage.text), action: 'allow' }
  assert.equal((await victim.browser.post('/oauth/consent', foreign)).status, 403)
  const page = await openBrowser(app).get(authorizePath(client))
  const failed = { ticket: ticketOf(page.text), action: 'allow' }
  assert.equal((await victim.browser.post('/oauth/consent', failed)).status, 403)
  const cross = { ticket: ticketOf(victim.consentPage.text), action: 'allow' }
  const blocked = await victim.browser.post('/oauth/consent', cross, {
    'sec-fetch-site': 'cross-site',
  })
  assert.equal(blocked.status, 403)
  for (const action of ['', 'Allow', 'yes']) {
    const page = await victim.browser.submit(victim.consentPage, { action })
    assert.equal(page.status, 400)
  }
})

test('a page expires after 10 minutes', async (t) => {
  const fixture = await openOauthFixture(t, 'sqlite', { env: { GATEHOOK_TEST_CLOCK: '1' } })
  const { browser, consentPage } = await openConsentPage(fixture)
  const otherBrowser = openBrowser(fixture.app)
  const page = await otherBrowser.get(authorizePath(fixture.client))
  await fixture.admin.post('/admin/clock', { advance_s: 601 })
  assert.equal((await browser.submit(consentPage, { action: 'allow' })).status, 403)
  assert.equal((await otherBrowser.submit(page, signIn(fixture.person.email))).status, 403)
  assert.match((await browser.get(authorizePath(fixture.client))).text, /name="password"/)
})

test('behind TLS the cookie is Secure and bound to the host', async (t) => {
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
  // Over TLS, the server ignores the cookie name of plain HTTP.
  const forced = await openBrowser(app).get(authorizePath(client), {
    ...proxied,
    cookie: `gatehook=${'a'.repeat(43)}`,
  })
  assert.match(String(forced.headers['set-cookie']), /^__Host-gatehook=/)
})
