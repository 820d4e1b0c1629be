/** §4.5, §5.2: logout-all ends the person's sign-in sessions in all browsers. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  authorizePath,
  grantConsent,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

for (const { name } of databases) {
  test(`after logout-all no browser gets a code without a password [${name}]`, async (t) => {
    const { app, anonymous, client, person, createPerson } = await openOauthFixture(t, name)
    const other = await createPerson()
    const [mine, theirs] = [openBrowser(app), openBrowser(app)]
    const path = authorizePath(client)
    for (const [browser, who] of [
      [mine, person],
      [theirs, other],
    ] as const) {
      assert(await grantConsent(browser, path, who))
      assert(
        (await browser.get(path)).location?.searchParams.get('code'),
        'the browser is signed in',
      )
    }
    const basic = { authorization: `Basic ${btoa(`${person.email}:${PASSWORD}`)}` }
    assert.equal((await anonymous.post('/auth/logout-all', undefined, basic)).status, 204)
    const page = await mine.get(path)
    assert.deepEqual([page.status, page.location], [200, undefined])
    assert.match(page.text, /name="password"/)
    assert((await theirs.get(path)).location?.searchParams.get('code'))
  })
}
