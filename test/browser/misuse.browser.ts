/** Misuse of the pages: framing, foreign form targets, double clicks, going back (§5.2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { next, openStage, press, signIn } from './stage.ts'

/** Resolves when the browser has reported a violation of the policy. */
const violation = (page: Page) =>
  page.waitForEvent('console', (message) => /content security policy/i.test(message.text()))

const stage = await openStage()
const { application, link } = stage

test('a page in a frame of another origin is blocked', async (t) => {
  const page = await stage.open(t, {}, 1)
  const { pathname, search } = new URL(link())
  const response = page.waitForEvent('response', (candidate) =>
    candidate.url().startsWith(stage.url),
  )
  const reported = violation(page)
  await page.goto(`${application.origin}/frame?of=${encodeURIComponent(pathname + search)}`)
  assert.equal((await response).status(), 200, 'the frame requests the page')
  const frames = page.frames().slice(1)
  assert.equal(frames.length, 1)
  assert.equal(frames[0]!.url(), 'chrome-error://chromewebdata/')
  assert.doesNotMatch(await frames[0]!.content(), /Ledger|password/)
  await reported
})

test('a form redirects to its application, and to no further origin', async (t) => {
  const onward = `${application.origin}/onward`
  const client = await stage.makeClient({ redirect_uris: [onward] })
  const page = await stage.open(t, {}, 1)
  await page.goto(link(client, { redirect_uri: onward }))
  await signIn(page, await stage.makePerson())
  const stopped = page.waitForEvent('requestfailed')
  const reported = violation(page)
  await page.getByRole('button', { name: 'Allow' }).click()
  assert(
    (await stopped).url().startsWith(`${onward}?code=`),
    'the browser blocks the second redirect',
  )
  await reported
  assert.equal(new URL(page.url()).origin, stage.url)
})

test('a double click acts like one click', async (t) => {
  const page = await stage.open(t)
  await page.goto(link())
  await page.getByLabel('E-mail').fill(await stage.makePerson())
  await page.getByLabel('Password').fill('correct horse battery')
  const twice = (name: string) => next(page, () => page.getByRole('button', { name }).dblclick())
  assert.equal(await twice('Sign in'), 200)
  assert.match(await page.title(), /^Allow/)
  assert.equal(await twice('Allow'), 200)
  const url = new URL(page.url())
  assert.equal(url.origin, application.origin)
  assert.equal((await stage.exchange(url.searchParams.get('code')!)).status, 200)
})

test('of two tabs at the sign-in, the second continues with the existing session', async (t) => {
  const page = await stage.open(t)
  await page.goto(link())
  const other = await page.context().newPage()
  await other.goto(link())
  const email = await stage.makePerson()
  await signIn(page, email)
  assert.equal(await signIn(other, email), 200)
  assert.match(await other.title(), /^Allow/)
  for (const tab of [page, other]) {
    await press(tab, 'Allow')
    const code = new URL(tab.url()).searchParams.get('code')
    assert.equal((await stage.exchange(code!)).status, 200)
  }
})

test('going back leads on to the consent and to the application', async (t) => {
  const page = await stage.open(t)
  await page.goto(`${application.origin}/home`)
  await page.goto(link())
  await signIn(page, await stage.makePerson(), 'wrong')
  await page.goBack()
  assert.match(await page.title(), /^Sign in/)
  await signIn(page, await stage.makePerson())
  await page.goBack()
  assert.match(await page.title(), /^Allow/)
  await press(page, 'Allow')
  const first = new URL(page.url()).searchParams.get('code')!
  assert.equal((await stage.exchange(first)).status, 200)
  await page.goBack()
  assert.match(await page.title(), /^Allow/, 'an application on the device needs consent each time')
  await press(page, 'Allow')
  const returned = new URL(page.url())
  assert.equal(returned.origin + returned.pathname, application.callback)
  assert.notEqual(returned.searchParams.get('code'), first, 'each redirect has a new code')
})

test('a page without its cookie has expired', async (t) => {
  const page = await stage.open(t)
  await page.goto(link())
  await page.context().clearCookies()
  assert.equal(await signIn(page, await stage.makePerson()), 403)
  const heading = page.getByRole('heading', { level: 1 })
  assert.equal(await heading.textContent(), 'This page has expired')
})
