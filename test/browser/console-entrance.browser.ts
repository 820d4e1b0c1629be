/** The ways into the console: one-time link, first operator, second factor, password, throttle. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFits,
  NARROW,
  OPERATOR,
  openConsoleStage,
  WIDE,
} from './console-stage.ts'

const stage = await openConsoleStage()
const REJECTED = /Failed to load resource: the server responded with a status of 4/

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })

async function signIn(page: Page, password = OPERATOR.password, email = OPERATOR.email) {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.keyboard.press('Enter')
}

const codeOf = (secret: string, offsetS = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({
    timestamp: Date.now() + offsetS * 1000,
  })

for (const viewport of [WIDE, NARROW]) {
  const { width } = viewport
  const email = `ada${width}@example.com`

  test(`from the link to the console, out and in again [${width}]`, async (t) => {
    const page = await stage.open(t, { viewport }, REJECTED)
    const link = await stage.link()
    await page.goto(stage.url + link)
    await heading(page, 'Create an operator').waitFor()
    assert.equal(page.url(), `${stage.url}/console/setup`)
    assert.match(await page.title(), /^Set up · /)
    await assertAccessible(page, 'setup')
    await assertFits(page, 'setup')

    // A short password is rejected in the form, a frequent one by the server.
    await signIn(page, 'short', email)
    await page.getByText('It has fewer than 12 characters.').waitFor()
    await page.getByLabel('Password').fill(email)
    await page.keyboard.press('Enter')
    await page.locator('.err').waitFor()
    await page.getByLabel('Password').fill(OPERATOR.password)
    await page.keyboard.press('Enter')
    await heading(page, 'Overview').waitFor()
    assert.equal(page.url(), `${stage.url}/console/overview?mode=test`)

    // The link works once.
    const stranger = await stage.open(t, { viewport }, REJECTED)
    await stranger.goto(stage.url + link)
    await stranger.getByText('The link was used before').waitFor()
    assert.equal(new URL(stranger.url()).hash, '')
    await assertAccessible(stranger, 'a used link')

    await leave(page)
    await heading(page, 'Sign in').waitFor()
    await signIn(page, OPERATOR.password, email)
    await heading(page, 'Second factor').waitFor()
    await page.locator('svg.qr path[d^="M"]').waitFor()
    await assertAccessible(page, 'second factor')
    await assertFits(page, 'second factor')
    const secret = (await page.locator('.hint code').textContent())!
    await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await heading(page, 'Recovery codes').waitFor()
    const codes = (await page.locator('pre').textContent())!.split('\n')
    assert.equal(codes.length, 10)
    await page.getByRole('button', { name: 'I have stored them' }).click()
    await heading(page, 'Overview').waitFor()

    await leave(page)
    await heading(page, 'Sign in').waitFor()
    await signIn(page, OPERATOR.password, email)
    await page.getByRole('textbox', { name: 'Code' }).fill(codes[0]!)
    await page.keyboard.press('Enter')
    await heading(page, 'Overview').waitFor()
  })
}

async function leave(page: Page): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) await menu.click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}

test('wrong passwords end in a wait, which the form counts down', async (t) => {
  const page = await stage.open(t, {}, REJECTED)
  await page.goto(`${stage.url}/console/requests?mode=test`)
  await heading(page, 'Sign in').waitFor()
  await assertAccessible(page, 'sign in')
  const notice = page.getByRole('alert')
  for (let attempt = 1; attempt <= 10; attempt++) {
    await signIn(page, `wrong password ${attempt}`, 'eve@example.com')
    await notice.filter({ hasText: 'is wrong' }).waitFor()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
  }
  await signIn(page, 'wrong password 11', 'eve@example.com')
  await notice.filter({ hasText: 'The next attempt is possible in' }).waitFor()
  await page.getByRole('button', { name: /^Wait \d+ s$/ }).waitFor()
  await assertAccessible(page, 'throttled')
  // The URL stays, so that the page appears after a sign-in.
  assert.equal(page.url(), `${stage.url}/console/requests?mode=test`)
})

test('a session that ends is covered by the form, and the page returns', async (t) => {
  const page = await stage.open(t, {}, REJECTED)
  await page.goto(stage.url + (await stage.link()))
  await signIn(page, OPERATOR.password)
  await heading(page, 'Overview').waitFor()
  await page.goto(`${stage.url}/console/requests`)
  await heading(page, 'Requests').waitFor()
  await page.context().clearCookies()
  // A request of the page itself may have opened the dialog already, above the button.
  await page.getByRole('button', { name: '24 h' }).dispatchEvent('click')
  const dialog = page.getByRole('dialog', { name: 'Sign in again' })
  await dialog.waitFor()
  await assertAccessible(page, 'session over')
  await page.goto(stage.url + (await stage.link(OPERATOR.email)))
  await heading(page, 'Overview').waitFor()
})

test('the console opens in test mode until live mode has a key or data', async (t) => {
  const page = await stage.signedIn(t)
  const openingOf = async () => {
    await page.goto(`${stage.url}/console`)
    await heading(page, 'Overview').waitFor()
    return new URL(page.url()).search
  }
  assert.equal(await openingOf(), '?mode=test', 'keys of administration are no live use')
  const body = { name: 'Till', mode: 'live', scopes: ['orders:read'] }
  const { id } = await stage.json('POST', '/admin/keys', body)
  assert.equal(await openingOf(), '')
  await stage.call('DELETE', `/admin/keys/${id}`)
  assert.equal(await openingOf(), '?mode=test')
  const client = { name: 'Desk', mode: 'live', scopes: ['orders:read'] }
  const { client_id } = await stage.json('POST', '/admin/clients', client)
  assert.equal(await openingOf(), '')
  await stage.call('DELETE', `/admin/clients/${client_id}`)
  const user = { name: 'Ada', email: 'ada@example.com' }
  await stage.json('POST', '/api/v2/users', user)
  assert.equal(await openingOf(), '')
  await page.goto(`${stage.url}/console?mode=test`)
  await heading(page, 'Overview').waitFor()
  assert.equal(new URL(page.url()).search, '?mode=test', 'a mode in the address stays')
})
