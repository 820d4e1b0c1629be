/** §4.5: a person lists and revokes consents. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { sql } from '../../src/platform/storage/sql.ts'
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
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

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

  test(`a client of which only webhooks are left can be revoked, once [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, LOCAL)
    const { app, admin, anonymous } = fixture
    const scopes = ['webhooks:read', 'webhooks:write', 'users:read', 'users:all']
    const client = await fixture.createClient({ scopes })
    const person = await fixture.createPerson({ scopes })
    const own = { ...fixture, client, person }
    const { body: tokens } = await exchange(own, await obtainCode(own))
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
    const hook = await openHook(t)
    const events = { events: ['user.*'] }
    const created = await register(anonymous, hook, events, bearer(tokens.access_token))
    assert.equal(created.status, 201, created.text)
    // As after the session has expired, where a client has no consent of its own.
    await app.db.write(async (tx) => {
      await tx.run(sql`DELETE FROM gh_sessions WHERE client_id = ${client.client_id}`)
      await tx.run(sql`DELETE FROM gh_consents WHERE client_id = ${client.client_id}`)
    })
    const login = { username: person.email, password: PASSWORD }
    const session = (await anonymous.post('/auth/login', login)).body
    const revoke = () =>
      anonymous.delete(`/auth/consents/${client.client_id}`, bearer(session.access_token))
    assert.equal((await revoke()).status, 204)
    const { body } = await admin.get(`/webhooks/${created.body.id}`)
    assert.deepEqual([body.active, body.disabled_reason], [false, 'creator_removed'])
    assert.equal((await revoke()).status, 404)
  })
}
