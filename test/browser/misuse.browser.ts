/** What a browser can be made to do with the pages, by others or by accident (§5.2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { next, openStage, press, signIn } from './stage.ts'

const stage = await openStage()
const { application, link } = stage

test('framed by another origin, a page shows nothing', async (t) => {
  const page = await stage.open(t, {}, 1)
  const { pathname, search } = new URL(link())
  const response = page.waitForEvent('response', (one) => one.url().startsWith(stage.url))
  await page.goto(`${application.origin}/frame?of=${encodeURIComponent(pathname + search)}`)
  assert.equal((await response).status(), 200, 'it was asked for')
  const frames = page.frames().slice(1)
  assert.equal(frames.length, 1)
  assert.equal(frames[0]!.url(), 'chrome-error://chromewebdata/')
  assert.doesNotMatch(await frames[0]!.content(), /Ledger|password/)
})

test('a form leads to the application it is about, and no further', async (t) => {
  const onward = `${application.origin}/onward`
  const client = await stage.makeClient({ redirect_uris: [onward] })
  const page = await stage.open(t, {}, 1)
  await page.goto(link(client, { redirect_uri: onward }))
  await signIn(page, await stage.makePerson())
  const stopped = page.waitForEvent('requestfailed')
  await page.getByRole('button', { name: 'Allow' }).click()
  assert((await stopped).url().startsWith(`${onward}?code=`), 'it was sent there')
  assert.equal(new URL(page.url()).origin, stage.url)
})

test('a button pressed twice does what it does once', async (t) => {
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

test('two tabs at the sign-in: the second finds who is signed in already', async (t) => {
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

test('going back never breaks: on to the consent, on to the application', async (t) => {
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
  const again = new URL(page.url())
  assert.equal(again.origin + again.pathname, application.callback)
  assert.notEqual(again.searchParams.get('code'), first, 'a code is never given twice')
})

test('a page whose browser was forgotten has expired', async (t) => {
  const page = await stage.open(t)
  await page.goto(link())
  await page.context().clearCookies()
  assert.equal(await signIn(page, await stage.makePerson()), 403)
  const heading = page.getByRole('heading', { level: 1 })
  assert.equal(await heading.textContent(), 'This page has expired')
})
