/** §16.3: redirects that stay on the device: any port of a loopback host, and consent each time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { authorizePath, grantConsent, openBrowser, openOauthFixture } from '../oauth/rig.ts'

const cases = [
  ['http://127.0.0.1/callback', 'http://127.0.0.1:49152/callback', 'asks again'],
  ['http://localhost:3000/callback', 'http://localhost:49152/callback', 'asks again'],
  ['http://[::1]:1/callback?a=b', 'http://[::1]/callback?a=b', 'asks again'],
  ['com.example.app:/callback', 'com.example.app:/callback', 'asks again'],
  ['https://app.example/callback', 'https://app.example/callback', 'remembers'],
] as const

for (const { name } of databases) {
  test(`consent to a redirect on the device is asked each time [${name}]`, async (t) => {
    const { app, createClient, person } = await openOauthFixture(t, name)
    for (const isPublic of [true, false]) {
      for (const [registered, redirect_uri, expected] of cases) {
        const client = await createClient({ public: isPublic, redirect_uris: [registered] })
        const browser = openBrowser(app)
        const path = authorizePath(client, { redirect_uri })
        const back = await grantConsent(browser, path, person)
        assert(back.location?.href.startsWith(redirect_uri), redirect_uri)
        const again = await browser.get(path)
        if (expected === 'remembers') assert.equal(again.status, 303)
        else {
          assert.match(again.text, /value="allow"/, redirect_uri)
          assert.match(
            again.text,
            /Any program on this device could ask in the name of <bdi>An app<\/bdi>/,
          )
          const silent = await browser.get(authorizePath(client, { redirect_uri, prompt: 'none' }))
          assert.equal(silent.location?.searchParams.get('error'), 'consent_required')
        }
      }
    }
  })
}
