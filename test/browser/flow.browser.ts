/** The way of a code through a real browser (§5.1, §5.2, §4.8), with scripts and without. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { focused, next, openStage, PASSWORD, press, STATE, signIn } from './stage.ts'

const stage = await openStage()
const { application, link } = stage

/** What the application was told when the last person came back. */
const told = (): Record<string, string> => Object.fromEntries(application.returns.at(-1)!)

for (const javaScriptEnabled of [true, false]) {
  const options = { javaScriptEnabled }
  const named = (name: string) => `${name} [${javaScriptEnabled ? 'scripts' : 'no scripts'}]`

  test(named('with nothing but a keyboard: sign in, agree, and the code is good'), async (t) => {
    const page = await stage.open(t, options)
    const seen = async (name: string) => {
      assert.equal(await focused(page), name)
      const outline = `getComputedStyle(document.activeElement).outline`
      assert.match(await page.evaluate<string>(outline), / solid 3px$/)
    }
    const tabTo = async (...names: string[]) => {
      for (const name of names) {
        await page.keyboard.press('Tab')
        await seen(name)
      }
    }
    await page.goto(link())
    assert.equal(await page.title(), 'Sign in · Gatehook reference service')
    await seen('username')
    await page.keyboard.type(await stage.makePerson())
    await tabTo('password')
    await page.keyboard.type(PASSWORD)
    await tabTo('Sign in', 'Cancel')
    await page.keyboard.press('Shift+Tab')
    assert.equal(await next(page, () => page.keyboard.press('Enter')), 200)
    assert.equal(await page.title(), 'Allow Ledger? · Gatehook reference service')
    assert.equal(await focused(page), 'nothing', 'a second Enter does not say yes')
    await tabTo('Allow', 'Cancel', 'Use another account')
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Shift+Tab')
    await seen('Allow')
    await next(page, () => page.keyboard.press('Enter'))
    assert(page.url().startsWith(`${application.callback}?`))
    const { code, ...more } = told()
    assert.deepEqual(more, { state: STATE, iss: stage.url })
    const { status, body } = await stage.exchange(code!)
    assert.deepEqual([status, body.token_type], [200, 'Bearer'])
  })

  test(named('the consent says who asks, for what, and where it leads'), async (t) => {
    const page = await stage.open(t, options)
    const email = await stage.makePerson()
    await page.goto(link(stage.client, { scope: 'orders:read orders:write' }))
    await signIn(page, email)
    assert.match((await page.getByRole('heading', { level: 1 }).textContent())!, /^Allow Ledger /)
    const list = page.getByRole('list', { name: 'Ledger will be able to:' })
    assert.deepEqual(await list.getByRole('listitem').allInnerTexts(), [
      'See your orders',
      'Create, change and delete your orders',
    ])
    const main = page.getByRole('main')
    const { host } = new URL(application.origin)
    await main.getByText(`You will return to ${host}.`).waitFor()
    await main.getByText(`You are signed in as ${email}.`).waitFor()
    assert.equal(await page.locator('html').getAttribute('lang'), 'en')
  })

  test(named('a wrong password: told with the field, the name is kept'), async (t) => {
    const page = await stage.open(t, options)
    const email = await stage.makePerson()
    await page.goto(link())
    assert.equal(await signIn(page, email, 'wrong'), 403)
    assert.match(await page.title(), /^Error: Sign in/)
    assert.equal(await page.getByRole('alert').textContent(), 'E-mail or password is wrong.')
    assert.equal(await focused(page), 'password')
    const described = `document.getElementById(
      document.activeElement.getAttribute('aria-describedby')).textContent`
    assert.equal(await page.evaluate(described), 'E-mail or password is wrong.')
    assert.equal(await page.getByLabel('E-mail').inputValue(), email)
    assert.equal(await page.getByLabel('Password').inputValue(), '')
    await page.keyboard.type(PASSWORD)
    await next(page, () => page.keyboard.press('Enter'))
    assert.match(await page.title(), /^Allow/)
  })

  test(named('Cancel, on either page, is access_denied at the application'), async (t) => {
    const denied = () => {
      const { error, error_description, ...more } = told()
      assert.equal(error, 'access_denied')
      assert.deepEqual(more, { state: STATE, iss: stage.url })
      assert(page.url().startsWith(`${application.callback}?`))
    }
    const page = await stage.open(t, options)
    await page.goto(link())
    await press(page, 'Cancel')
    denied()
    await page.goto(link())
    await signIn(page, await stage.makePerson())
    await press(page, 'Cancel')
    denied()
  })

  test(named('a yes is remembered; another account can be used'), async (t) => {
    const page = await stage.open(t, options)
    await page.goto(link())
    await signIn(page, await stage.makePerson())
    await press(page, 'Allow')
    const first = told().code
    await page.goto(link())
    assert(page.url().startsWith(`${application.callback}?`))
    assert(told().code && told().code !== first)
    await page.goto(link(stage.client, { prompt: 'consent' }))
    await press(page, 'Use another account')
    assert.match(await page.title(), /^Sign in/)
  })

  test(named('a client nobody knows, or an address that is not its own: told here'), async (t) => {
    const page = await stage.open(t, options)
    const before = application.returns.length
    for (const wrong of [
      { client_id: 'client_0000000000000000000000' },
      { redirect_uri: `${application.callback}/elsewhere` },
    ]) {
      const response = await page.goto(link(stage.client, wrong))
      assert.equal(response!.status(), 400)
      assert.equal(new URL(page.url()).origin, stage.url)
      assert.equal(
        await page.getByRole('heading', { level: 1 }).textContent(),
        'This does not work',
      )
      assert.match((await page.getByRole('main').textContent())!, /Reference: req_/)
    }
    assert.equal(application.returns.length, before)
  })

  test(named('a person of another customer or mode is told so'), async (t) => {
    const customer = await stage.makeCustomer('Elsewhere')
    const email = await stage.makePerson()
    for (const [client, says] of [
      [await stage.makeClient({ customer }), /belongs to another organization than Ledger/],
      [await stage.makeClient({ mode: 'test' }), /Ledger is for test accounts/],
    ] as const) {
      const page = await stage.open(t, options)
      await page.goto(link(client))
      assert.equal(await signIn(page, email), 403)
      assert.match((await page.getByRole('alert').textContent())!, says)
    }
  })

  test(named('who guessed too often is told how long to wait'), async (t) => {
    const page = await stage.open(t, options)
    await page.goto(link())
    assert.equal(await signIn(page, await stage.makeThrottled()), 429)
    const alert = await page.getByRole('alert').textContent()
    assert.match(alert!, /^Too many failed attempts\. Sign in again in [45] minutes\.$/)
  })
}
