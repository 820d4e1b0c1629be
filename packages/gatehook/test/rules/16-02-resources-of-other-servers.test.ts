/** §16.2: `resource` of another server is `invalid_target`; it consumes and rotates nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  form,
  obtainCode,
  openBrowser,
  openOauthFixture,
  VERIFIER,
} from '../oauth/rig.ts'

const ISSUER = 'https://api.example.com'
const env = { GATEHOOK_PUBLIC_URL: ISSUER, GATEHOOK_AUDIENCE: 'urn:orders' }
const FOREIGN = [
  'https://other.example/',
  `${ISSUER}/other`,
  `${ISSUER}/api#x`,
  `${ISSUER}/API`,
  `${ISSUER}//`,
  'http://api.example.com',
  'urn:other',
]
const OWN = [
  ISSUER,
  `${ISSUER}/`,
  'HTTPS://API.example.COM',
  `${ISSUER}/api`,
  `${ISSUER}/api/`,
  'urn:orders',
]

for (const { name } of databases) {
  test(`a foreign resource is refused, an own one is not [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, { env })
    const { app, anonymous, client } = fixture
    const token = (fields: Record<string, string>) =>
      form(anonymous, '/oauth/token', fields, basicOf(client))
    const code = {
      grant_type: 'authorization_code',
      redirect_uri: CALLBACK,
      code_verifier: VERIFIER,
    }
    const exchange = { ...code, code: await obtainCode(fixture, { resource: `${ISSUER}/api` }) }
    for (const resource of FOREIGN) {
      const page = await openBrowser(app).get(authorizePath(client, { resource }))
      assert.equal(page.location?.searchParams.get('error'), 'invalid_target', resource)
      assert.equal(page.location?.searchParams.get('code'), null)
      const { status, body } = await token({ ...exchange, resource })
      assert.deepEqual([status, body.error], [400, 'invalid_target'], resource)
    }
    const session = await token({ ...exchange, resource: ISSUER })
    assert.equal(session.status, 200, session.text)
    let refresh = { grant_type: 'refresh_token', refresh_token: session.body.refresh_token }
    for (const resource of FOREIGN) {
      assert.equal((await token({ ...refresh, resource })).body.error, 'invalid_target')
      const grant = { grant_type: 'client_credentials', resource }
      assert.equal((await token(grant)).body.error, 'invalid_target')
    }
    for (const resource of OWN) {
      const next = await token({ ...refresh, resource })
      assert.equal(next.status, 200, `${resource}: ${next.text}`)
      refresh = { ...refresh, refresh_token: next.body.refresh_token }
      const bearer = { authorization: `Bearer ${next.body.access_token}` }
      assert.equal((await anonymous.get('/api/v2/orders', bearer)).status, 200)
      assert.equal((await openBrowser(app).get(authorizePath(client, { resource }))).status, 200)
    }
    const repeated = `${new URLSearchParams(refresh)}&resource=${ISSUER}&resource=`
    const send = (body: string) =>
      anonymous.post('/oauth/token', body, {
        ...basicOf(client),
        'content-type': 'application/x-www-form-urlencoded',
      })
    assert.equal((await send(`${repeated}https://other.example`)).body.error, 'invalid_target')
    assert.equal((await send(`${repeated}${ISSUER}/api`)).status, 200)
  })
}
