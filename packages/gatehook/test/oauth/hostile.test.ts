/** No input to an OAuth endpoint causes a 500, or a redirect to an unregistered URI. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { databases } from '../../../../test/rig/databases.ts'
import { authorizePath, basicOf, openBrowser, openOauthFixture } from './rig.ts'

const names = [
  ...['grant_type', 'code', 'redirect_uri', 'code_verifier', 'client_id', 'client_secret'],
  ...['scope', 'refresh_token', 'token', 'token_type_hint', 'username', 'ticket', 'action'],
  ...['response_type', 'state', 'code_challenge', 'code_challenge_method', 'prompt'],
]
const words = ['authorization_code', 'refresh_token', 'client_credentials', 'code', 'S256', 'x.y.z']
const name = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...names) }, fc.string())
const value = fc.oneof(
  fc.constantFrom(...words, '', '\0', '%', '%ff', '\ud800', '__proto__', "' OR 1=1 --"),
  fc.string({ unit: 'binary', maxLength: 80 }),
)
const pairs = fc.array(fc.tuple(name, value), { maxLength: 8 })

const encode = (entries: readonly (readonly [string, string])[], raw: boolean): string =>
  raw
    ? entries.map(([key, text]) => `${key}=${text}`).join('&')
    : new URLSearchParams(entries.map(([key, text]) => [key, text])).toString()

for (const { name } of databases) {
  test(`any form at any endpoint is below 500 and no redirect [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const endpoints = ['token', 'revoke', 'introspect', 'sign-in', 'consent']
    const endpoint = fc.constantFrom(...endpoints)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    await fc.assert(
      fc.asyncProperty(
        endpoint,
        pairs,
        fc.boolean(),
        fc.boolean(),
        async (path, entries, raw, own) => {
          const sent = own ? { ...headers, ...basicOf(fixture.client) } : headers
          const body = Buffer.from(encode(entries, raw))
          const reply = await fixture.app.inject({
            method: 'POST',
            url: `/oauth/${path}`,
            headers: { host: 'localhost', ...sent },
            payload: body,
          })
          assert(reply.statusCode < 500, `${reply.statusCode} ${reply.body}`)
          assert.equal(reply.headers.location, undefined)
        },
      ),
      { numRuns: name === 'sqlite' ? 300 : 100 },
    )
  })
}

test('a valid request with a changed parameter redirects to the registered URI', async (t) => {
  const { app, client } = await openOauthFixture(t, 'sqlite')
  const registered = 'https://app.example/callback?'
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), value, async (parameter, text) => {
      const page = await openBrowser(app).get(authorizePath(client, { [parameter]: text }))
      assert(page.status < 500, `${parameter}=${text}: ${page.status}`)
      if (page.location) assert(page.location.href.startsWith(registered), page.location.href)
      assert(!page.location?.searchParams.has('code'))
    }),
    { numRuns: 300 },
  )
})
