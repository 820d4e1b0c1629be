/** The authorization code flow in a browser (§5.1, §5.2, §4.8), with and without scripts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { focused, next, openStage, PASSWORD, press, STATE, signIn } from './stage.ts'

const stage = await openStage()
const { application, link } = stage

/** Returns the parameters of the latest redirect to the application. */
const latestRedirect = (): Record<string, string> => Object.fromEntries(application.returns.at(-1)!)

for (const javaScriptEnabled of [true, false]) {
  const options = { javaScriptEnabled }
  const titled = (name: string) => `${name} [${javaScriptEnabled ? 'scripts' : 'no scripts'}]`

  test(
    titled('sign-in and consent work with the keyboard only, and the code is valid'),
    async (t) => {
      const page = await stage.open(t, options)
      const assertFocused = async (name: string) => {
        assert.equal(await focused(page), name)
        const outline = `getComputedStyle(document.activeElement).outline`
        assert.match(await page.evaluate<string>(outline), / solid 3px$/)
      }
      const tabTo = async (...names: string[]) => {
        for (const name of names) {
          await page.keyboard.press('Tab')
          await assertFocused(name)
        }
      }
      await page.goto(link())
      assert.equal(await page.title(), 'Sign in · Gatehook reference service')
      await assertFocused('username')
      await page.keyboard.type(await stage.makePerson())
      await tabTo('password')
      await page.keyboard.type(PASSWORD)
      await tabTo('Sign in', 'Cancel')
      await page.keyboard.press('Shift+Tab')
      assert.equal(await next(page, () => page.keyboard.press('Enter')), 200)
      assert.equal(await page.title(), 'Allow Ledger? · Gatehook reference service')
      assert.equal(await focused(page), 'nothing', 'a second Enter does not confirm')
      await tabTo('Allow', 'Cancel', 'Use another account')
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Shift+Tab')
      await assertFocused('Allow')
      await next(page, () => page.keyboard.press('Enter'))
      assert(page.url().startsWith(`${application.callback}?`))
      const { code, ...more } = latestRedirect()
      assert.deepEqual(more, { state: STATE, iss: stage.url })
      const { status, body } = await stage.exchange(code!)
      assert.deepEqual([status, body.token_type], [200, 'Bearer'])
    },
  )

  test(titled('the consent names the client, the scopes and the return address'), async (t) => {
    const page = await stage.open(t, options)
    const email = await stage.makePerson()
    await page.goto(link(stage.client, { scope: 'orders:read orders:write' }))
    await signIn(page, email)
    assert.match((await page.getByRole('heading', { level: 1 }).textContent())!, /^Allow Ledger /)
    const list = page.getByRole('list', { name: 'Ledger will be able to:' })
    assert.deepEqual(await list.getByRole('listitem').allInnerTexts(), [
      'See your orders',
      'Create and change your orders',
    ])
    const main = page.getByRole('main')
    const { host } = new URL(application.origin)
    await main.getByText(`You will return to ${host}.`).waitFor()
    await main.getByText(`You are signed in as ${email}.`).waitFor()
    assert.equal(await page.locator('html').getAttribute('lang'), 'en')
  })

  test(
    titled('a wrong password is reported at its field; the e-mail stays filled in'),
    async (t) => {
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
    },
  )

  test(titled('Cancel on either page gives the application access_denied'), async (t) => {
    const assertDenied = () => {
      const { error, error_description, ...more } = latestRedirect()
      assert.equal(error, 'access_denied')
      assert.deepEqual(more, { state: STATE, iss: stage.url })
      assert(page.url().startsWith(`${application.callback}?`))
    }
    const page = await stage.open(t, options)
    await page.goto(link())
    await press(page, 'Cancel')
    assertDenied()
    await page.goto(link())
    await signIn(page, await stage.makePerson())
    await press(page, 'Cancel')
    assertDenied()
  })

  test(
    titled('an application on the device needs consent each time; another account can be used'),
    async (t) => {
      const page = await stage.open(t, options)
      await page.goto(link())
      await signIn(page, await stage.makePerson())
      await press(page, 'Allow')
      const first = latestRedirect().code
      await page.goto(link())
      assert.match((await page.getByRole('main').textContent())!, /Any program on this device/)
      await press(page, 'Allow')
      assert(page.url().startsWith(`${application.callback}?`))
      assert(latestRedirect().code && latestRedirect().code !== first)
      await page.goto(link(stage.client, { prompt: 'consent' }))
      await press(page, 'Use another account')
      assert.match(await page.title(), /^Sign in/)
    },
  )

  test(
    titled('an unknown client or a foreign redirect URI shows an error without a redirect'),
    async (t) => {
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
    },
  )

  test(titled('a person of another customer or mode gets 403 with the reason'), async (t) => {
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

  test(titled('after too many failed sign-ins the page states the wait'), async (t) => {
    const page = await stage.open(t, options)
    await page.goto(link())
    assert.equal(await signIn(page, await stage.makeThrottled()), 429)
    const alert = await page.getByRole('alert').textContent()
    assert.match(alert!, /^Too many failed attempts\. Sign in again in [45] minutes\.$/)
  })
}
