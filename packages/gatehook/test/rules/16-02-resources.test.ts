/** §16.2: `resource` selects the audience of tokens; a path accepts its own and the standard. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  form,
  grantConsent,
  type OauthFixture,
  openBrowser,
  openOauthFixture,
  VERIFIER,
} from '../oauth/rig.ts'

const ISSUER = 'https://api.example.com'
const API = `${ISSUER}/api`
const env = { GATEHOOK_PUBLIC_URL: ISSUER, GATEHOOK_AUDIENCE: 'urn:orders, urn:stock' }
const FOREIGN = [
  'https://other.example/',
  `${ISSUER}/other`,
  `${API}#x`,
  `${ISSUER}/API`,
  `${ISSUER}//`,
  'http://api.example.com',
  'urn:other',
]
/** The spelling of a request, and that of the claim. */
const OWN: readonly [requested: string, aud: string][] = [
  [ISSUER, ISSUER],
  [`${ISSUER}/`, ISSUER],
  ['HTTPS://API.example.COM', ISSUER],
  [API, API],
  [`${API}/`, API],
  ['urn:orders', 'urn:orders'],
  ['urn:stock', 'urn:stock'],
]
const ALL = [ISSUER, API, 'urn:orders', 'urn:stock']

const search = (resources: readonly string[]) =>
  resources.map((resource) => `&resource=${encodeURIComponent(resource)}`).join('')

const claimOf = (jwt: string) => JSON.parse(atob(jwt.split('.')[1]!.replaceAll('-', '+'))).aud

/** Sends token requests, which may repeat `resource`. */
const tokensOf = ({ anonymous, client }: OauthFixture) => {
  const send = (fields: Record<string, string>, resources: readonly string[]) =>
    anonymous.post('/oauth/token', new URLSearchParams(fields) + search(resources), {
      ...basicOf(client),
      'content-type': 'application/x-www-form-urlencoded',
    })
  const redirect = { redirect_uri: CALLBACK, code_verifier: VERIFIER }
  return {
    exchange: (code: string, ...resources: string[]) =>
      send({ grant_type: 'authorization_code', code, ...redirect }, resources),
    refresh: (token: string, ...resources: string[]) =>
      send({ grant_type: 'refresh_token', refresh_token: token }, resources),
    own: (...resources: string[]) => send({ grant_type: 'client_credentials' }, resources),
  }
}

async function codeFor({ app, client, person }: OauthFixture, resources: readonly string[]) {
  const path = authorizePath(client) + search(resources)
  const page = await grantConsent(openBrowser(app), path, person)
  return page.location!.searchParams.get('code')!
}

for (const { name } of databases) {
  test(`a foreign resource is refused; it consumes and rotates nothing [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { app, client, anonymous } = fixture
    const { exchange, refresh, own } = tokensOf(fixture)
    const code = await codeFor(fixture, ALL)
    for (const resource of FOREIGN) {
      const page = await openBrowser(app).get(authorizePath(client, { resource }))
      assert.equal(page.location?.searchParams.get('error'), 'invalid_target', resource)
      assert.equal(page.location?.searchParams.get('code'), null)
      for (const resources of [[resource], [API, resource]]) {
        const { status, body } = await exchange(code, ...resources)
        assert.deepEqual([status, body.error], [400, 'invalid_target'], resource)
      }
    }
    const session = await exchange(code)
    assert.deepEqual(claimOf(session.body.access_token), ALL)
    let token = session.body.refresh_token
    for (const resource of FOREIGN) {
      assert.equal((await refresh(token, resource)).body.error, 'invalid_target')
      assert.equal((await own(resource)).body.error, 'invalid_target')
      const body = { refresh_token: token, resource }
      const { status, body: problem } = await anonymous.post('/auth/refresh', body, basicOf(client))
      assert.deepEqual([status, problem.error], [400, 'invalid_target'])
    }
    for (const [resource, aud] of OWN) {
      const next = await refresh(token, resource)
      assert.equal(claimOf(next.body.access_token), aud)
      assert.equal(claimOf((await own(resource)).body.access_token), aud)
      token = next.body.refresh_token
    }
  })

  test(`later requests keep or narrow the audience of the grant [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { anonymous, client } = fixture
    const { exchange, refresh } = tokensOf(fixture)
    const cases = [
      { requested: [], granted: 'urn:orders', narrower: 'urn:orders', wider: ISSUER },
      { requested: [API], granted: API, narrower: API, wider: ISSUER },
      { requested: [ISSUER, API], granted: [ISSUER, API], narrower: API, wider: 'urn:orders' },
    ]
    for (const { requested, granted, narrower, wider } of cases) {
      const code = await codeFor(fixture, requested)
      assert.equal((await exchange(code, wider)).body.error, 'invalid_target')
      const first = (await exchange(code, narrower)).body
      assert.equal(claimOf(first.access_token), narrower)
      assert.equal((await refresh(first.refresh_token, wider)).body.error, 'invalid_target')
      const second = (await refresh(first.refresh_token)).body
      assert.deepEqual(claimOf(second.access_token), granted)
      const third = (await refresh(second.refresh_token, narrower)).body
      assert.equal(claimOf(third.access_token), narrower)
      const post = (refresh_token: string, more = {}) =>
        anonymous.post('/auth/refresh', { refresh_token, ...more }, basicOf(client))
      const fourth = (await post(third.refresh_token)).body
      assert.deepEqual(claimOf(fourth.access_token), granted)
      const fifth = (await post(fourth.refresh_token, { resource: narrower })).body
      assert.equal(claimOf(fifth.access_token), narrower)
    }
  })

  test(`a path accepts the standard audience and its own [${name}]`, async (t) => {
    const cases = [
      { env, accepted: { 'urn:orders': 'both', 'urn:stock': 'none' } },
      { env: { GATEHOOK_PUBLIC_URL: ISSUER }, accepted: {} },
    ]
    for (const { env, accepted } of cases) {
      const fixture = await openOauthFixture(t, name, { env })
      const scopes = ['orders:read', 'webhooks:read']
      const client = await fixture.createClient({ scopes })
      const { own } = tokensOf({ ...fixture, client })
      // Without configured audiences the public URL is the standard one.
      const ofSite = 'urn:orders' in accepted ? 'site' : 'both'
      for (const [aud, paths] of Object.entries({ ...accepted, [ISSUER]: ofSite, [API]: 'api' })) {
        const bearer = { authorization: `Bearer ${(await own(aud)).body.access_token}` }
        // Each token twice: the second time it is cached.
        for (let use = 0; use < 2; use++) {
          for (const [path, part] of [
            ['/api/v2/orders', 'api'],
            ['/webhooks', 'site'],
          ] as const) {
            const { status, body } = await fixture.anonymous.get(path, bearer)
            const isAccepted = paths === 'both' || paths === part
            const expected = isAccepted ? [200, undefined] : [401, 'invalid_token']
            assert.deepEqual([status, body.error], expected, `${aud} ${path}`)
          }
        }
        const token = bearer.authorization.slice(7)
        const seen = await form(fixture.anonymous, '/oauth/introspect', { token }, basicOf(client))
        assert.deepEqual([seen.body.active, seen.body.aud], [true, aud])
      }
    }
  })
}
