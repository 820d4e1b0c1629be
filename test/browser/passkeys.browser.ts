/**
 * Passkeys (§16.12) in Chromium, whose virtual authenticator signs: operators in the console,
 * persons in an application of the same host that runs the code of the guide.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, type TestContext, test } from 'node:test'
import type { CDPSession, Page } from 'playwright-core'
import { onEnd } from '../rig/cleanup.ts'
import { freePort } from '../rig/postgres.ts'
import { assertAccessible, NARROW, openConsoleStage, openTab, WIDE } from './console-stage.ts'

const PASSWORD = 'a long enough phrase'
const [port, applicationPort] = [await freePort(), await freePort()]
/** Addresses have no passkeys: a relying party is a name. */
const origin = `http://localhost:${port}`
const application = `http://localhost:${applicationPort}`
const env = { GATEHOOK_PUBLIC_URL: origin, GATEHOOK_CORS_ORIGINS: application }
const stage = await openConsoleStage(env, undefined, ['--port', String(port)])
/** With the default public URL, which is an address. */
const local = await openConsoleStage()
const REJECTED = /Failed to load resource: the server responded with a status of 4/

/** Adds an authenticator to the browser of a page, as one that the device itself has. */
async function addAuthenticator(page: Page) {
  const world = await page.context().newCDPSession(page)
  await world.send('WebAuthn.enable')
  const { authenticatorId } = await world.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  })
  const count = async () =>
    (await world.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length
  return { world, authenticatorId, count }
}

/** Lets the person fail or pass the next verifications. */
const setVerified = (
  { world, authenticatorId }: { world: CDPSession; authenticatorId: string },
  isUserVerified: boolean,
) => world.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name })
const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name })

async function createOperator(email: string): Promise<string> {
  const fields = { email, password: PASSWORD, role: 'administrator' }
  return (await stage.json('POST', '/admin/operators', fields)).id
}

async function leave(page: Page, from = origin): Promise<void> {
  await page.goto(`${from}/console/overview`)
  await heading(page, 'Overview').waitFor()
  const menu = button(page, 'Menu')
  if (await menu.isVisible()) await menu.click()
  await button(page, 'Sign out').click()
  await heading(page, 'Sign in').waitFor()
}

for (const viewport of [WIDE, NARROW]) {
  test(`an operator adds, uses and deletes a passkey [${viewport.width}]`, async (t) => {
    const email = `ada${viewport.width}@example.com`
    const id = await createOperator(email)
    const page = await openTab(t, origin, stage.browser, { viewport }, REJECTED)
    const authenticator = await addAuthenticator(page)
    await page.goto(origin + (await stage.link(email)))
    await heading(page, 'Overview').waitFor()
    await page.goto(`${origin}/console/operators/${id}`)
    const section = page.getByRole('region', { name: 'Your passkeys' })
    await setVerified(authenticator, false)
    await section.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('No passkey was added.').waitFor()
    await setVerified(authenticator, true)
    await section.getByRole('button', { name: 'Add a passkey' }).click()
    await page.getByText('The passkey is added.').waitFor()
    await section.getByText(/^Added /).waitFor()
    assert.equal(await authenticator.count(), 1)
    await assertAccessible(page, 'own passkeys')

    await leave(page)
    await button(page, 'Sign in with a passkey').waitFor()
    await assertAccessible(page, 'sign in by a passkey')
    await button(page, 'Sign in with a passkey').click()
    await heading(page, 'Overview').waitFor()
    await page.goto(`${origin}/console/operators/${id}`)
    await section.getByText(/, used /).waitFor()
    await section.getByRole('button', { name: /^Delete the passkey/ }).click()
    await page.getByText('The passkey is deleted.').waitFor()

    // The last passkey is gone, and the password remains.
    await leave(page)
    await button(page, 'Sign in with a passkey').click()
    await page.getByText('This passkey is not registered here.').waitFor()
    await assertAccessible(page, 'a passkey that was deleted')
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.keyboard.press('Enter')
    await heading(page, 'Second factor').waitFor()
  })
}

test('at an address, the console leads to the name at which passkeys work', async (t) => {
  const email = 'eve@example.com'
  const password = PASSWORD
  const page = await openTab(t, local.url, stage.browser, {}, REJECTED)
  await page.goto(`${local.url}/console`)
  const { host } = new URL(local.url)
  const named = `http://${host.replace('127.0.0.1', 'localhost')}`
  const link = page.getByRole('link', { name: `${named}/console` })
  assert.equal(await link.getAttribute('href'), `${named}/console`)
  assert.equal(await button(page, 'Sign in with a passkey').count(), 0)
  await assertAccessible(page, 'an address without passkeys')

  const operator = { email, password, role: 'administrator' }
  const { id } = await local.json('POST', '/admin/operators', operator)
  const tab = await openTab(t, named, stage.browser, {}, REJECTED)
  await addAuthenticator(tab)
  await tab.goto(named + (await local.link(email)))
  await heading(tab, 'Overview').waitFor()
  await tab.goto(`${named}/console/operators/${id}`)
  await button(tab, 'Add a passkey').click()
  await tab.getByText('The passkey is added.').waitFor()
  await leave(tab, named)
  await button(tab, 'Sign in with a passkey').click()
  await heading(tab, 'Overview').waitFor()
})

async function openApplication(t: TestContext): Promise<Page> {
  const context = await stage.browser.newContext()
  onEnd(t, () => context.close())
  const page = await context.newPage()
  await page.goto(application)
  return page
}

const guide = readFileSync(new URL('../../docs/guides/people.md', import.meta.url), 'utf8')
const [, enrolment = assert.fail('The guide has no enrolment.')] =
  /^## Passkeys$[\s\S]*?```js\n([\s\S]*?)```/m.exec(guide) ?? []
const FUNCTIONS = `
  const send = async (method, path, body) => {
    const response = await fetch('${origin}' + path, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token && { authorization: 'Bearer ' + token }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const json = text === '' ? {} : JSON.parse(text)
    if (!response.ok) throw new Error(response.status + ' ' + json.error)
    return json
  }
  const post = (path, body) => send('POST', path, body)
  let token
  const signIn = async (username, password) => {
    token = (await post('/auth/login', { username, password })).access_token
  }
  const addPasskey = async () => {
    ${enrolment}
  }
  const signInByPasskey = async () => {
    token = undefined
    const options = await post('/auth/login/passkey/options')
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
    const passkey = await navigator.credentials.get({ publicKey })
    token = (await post('/auth/login/passkey', passkey.toJSON())).access_token
  }
  const list = async () => (await send('GET', '/auth/passkeys')).data
  const removeAll = async () => {
    for (const { id } of await list()) await send('DELETE', '/auth/passkeys/' + id)
  }`

const server = createServer((_request, response) => {
  response.setHeader('content-type', 'text/html')
  response.end(`<!doctype html><title>The application</title><script>${FUNCTIONS}</script>`)
})
await new Promise<void>((resolve) => server.listen(applicationPort, 'localhost', resolve))
after(() => void server.close().closeAllConnections())

test('a person adds, uses and deletes a passkey in an application', async (t) => {
  const email = 'bea@example.com'
  await stage.json('POST', '/admin/users', { name: 'Bea', email, password: PASSWORD })
  const page = await openApplication(t)
  const authenticator = await addAuthenticator(page)
  const run = (code: string) => page.evaluate<unknown>(code)
  await assert.rejects(run('signInByPasskey()'), /NotAllowedError/)
  await assert.rejects(run('addPasskey()'), /401 unauthorized/)
  await run(`signIn('${email}', '${PASSWORD}')`)
  await setVerified(authenticator, false)
  await assert.rejects(run('addPasskey()'), /NotAllowedError/)
  await setVerified(authenticator, true)
  await run('addPasskey()')
  // The device has one already.
  await assert.rejects(run('addPasskey()'), /InvalidStateError/)
  assert.equal(await authenticator.count(), 1)
  await run('signInByPasskey()')
  assert.equal(await run(`list().then(([{ last_used_at }]) => typeof last_used_at)`), 'string')
  assert.equal(await run(`list().then(({ length }) => length)`), 1)
  await run('removeAll()')
  // The last passkey is gone, and the password remains.
  await assert.rejects(run('signInByPasskey()'), /401 invalid_credentials/)
  await run(`signIn('${email}', '${PASSWORD}')`)
  assert.equal(await run(`list().then(({ length }) => length)`), 0)
})
