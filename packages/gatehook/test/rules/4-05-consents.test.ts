/** §4.5: a person lists and revokes consents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import {
  authorizePath,
  basicOf,
  exchange,
  form,
  grantConsent,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

for (const { name } of databases) {
  test(`a revoked consent ends its sessions and codes [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { admin, anonymous, client, person, createPerson } = fixture
    const { body: tokens } = await exchange(
      fixture,
      await obtainCode(fixture, { scope: 'orders:read' }),
    )
    const unused = await obtainCode(fixture, { scope: 'orders:read' })
    const stranger = await createPerson()
    const login = async ({ email }: { email: string }) => {
      const { body } = await anonymous.post('/auth/login', { username: email, password: PASSWORD })
      return { authorization: `Bearer ${body.access_token}` }
    }
    const [own, other] = [await login(person), await login(stranger)]
    const { body: list } = await anonymous.get('/auth/consents', own)
    assert.equal(list.data.length, 1)
    const { created_at, updated_at, ...consent } = list.data[0]
    assert.deepEqual(consent, {
      client_id: client.client_id,
      client_name: 'An app',
      scope: 'orders:read',
    })
    assert(created_at <= updated_at)
    for (const style of ['?offset=0', '?page=1', '?pagination=hypermedia', '?cursor=']) {
      const { status } = await anonymous.get(`/auth/consents${style}`, own)
      assert.equal(status, style === '?cursor=' ? 400 : 200, style)
    }
    assert.deepEqual((await anonymous.get('/auth/consents', other)).body.data, [])
    const path = `/auth/consents/${client.client_id}`
    assert.equal((await anonymous.delete(path, other)).status, 404, 'the consent of another person')

    assert.equal((await anonymous.delete(path, own)).status, 204)
    assert.deepEqual((await anonymous.get('/auth/consents', own)).body.data, [])
    const me = { authorization: `Bearer ${tokens.access_token}` }
    assert.equal((await anonymous.get('/api/v2/protected', me)).status, 401)
    const again = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
    const refused = await form(anonymous, '/oauth/token', again, basicOf(client))
    assert.equal(refused.body.error, 'invalid_grant')
    assert.equal((await exchange(fixture, unused)).body.error, 'invalid_grant')
    assert.equal(
      (await anonymous.get('/auth/consents', own)).status,
      200,
      'the login session continues',
    )
    const browser = openBrowser(fixture.app)
    await grantConsent(browser, authorizePath(client), person)
    assert.equal((await admin.get('/auth/consents')).status, 403, 'a key has no consents')
  })
}
