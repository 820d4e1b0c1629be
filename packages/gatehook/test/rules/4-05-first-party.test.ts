/** §4.5: account endpoints accept first-party sessions, and no third-party application. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { basicOf, exchange, obtainCode, openOauthFixture, PASSWORD } from '../oauth/rig.ts'

const ACCOUNT = [
  'GET /auth/sessions',
  'GET /auth/sessions/ses_1',
  'DELETE /auth/sessions/ses_1',
  'GET /auth/consents',
  'DELETE /auth/consents/client_1',
  'POST /auth/logout-all',
  'POST /auth/password',
  'POST /auth/username',
].map((line) => line.split(' ') as [string, string])

for (const { name } of databases) {
  test(`a third-party application is 403 first_party_required [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { admin, anonymous, client, person } = fixture
    const login = await anonymous.post('/auth/login', {
      username: person.email,
      password: PASSWORD,
    })
    const { body: granted } = await exchange(fixture, await obtainCode(fixture))
    const application = { authorization: `Bearer ${granted.access_token}` }
    const own = { authorization: `Bearer ${login.body.access_token}` }
    for (const [method, path] of ACCOUNT) {
      const body = path.endsWith('password')
        ? { current: PASSWORD, new: 'another long one' }
        : path.endsWith('username')
          ? { username: 'mallory@example.com', password: PASSWORD }
          : undefined
      const refused = await anonymous.send(method, path, body, application)
      assert.deepEqual([refused.status, refused.body.error], [403, 'first_party_required'], path)
    }
    const sessions = await anonymous.get('/auth/sessions', own)
    assert.equal(sessions.body.data.length, 2, 'no session has ended')
    assert.equal((await anonymous.get('/auth/consents', own)).body.data.length, 1)
    assert.equal((await anonymous.post('/auth/logout', undefined, application)).status, 204)
    assert.equal(
      (await anonymous.get('/auth/sessions', own)).body.data.length,
      1,
      'its own session has ended',
    )

    // A first-party client reaches them; a change of the registration applies to the next request.
    const first = await fixture.createClient({ first_party: true })
    const code = await obtainCode(fixture, {}, first)
    const { body: tokens } = await exchange(fixture, code, {}, basicOf(first))
    const trusted = { authorization: `Bearer ${tokens.access_token}` }
    assert.equal((await anonymous.get('/auth/sessions', trusted)).status, 200)
    const path = `/admin/clients/${first.client_id}`
    assert.equal((await admin.patch(path, { first_party: false })).body.first_party, false)
    assert.equal((await anonymous.get('/auth/sessions', trusted)).status, 403)
    assert.equal((await anonymous.get(`/admin/clients/${client.client_id}`)).status, 401)
  })
}
