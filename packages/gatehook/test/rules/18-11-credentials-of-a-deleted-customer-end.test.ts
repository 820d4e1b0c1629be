/** §18.11: the credentials of a customer end at once when its deletion begins. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import {
  authorizePath,
  basicOf,
  CALLBACK,
  type Client,
  exchange,
  form,
  grantConsent,
  type OauthFixture,
  obtainCode,
  openBrowser,
  openOauthFixture,
  PASSWORD,
} from '../oauth/rig.ts'

const open = { env: { GATEHOOK_CLIENT_REGISTRATION: 'open' } }

/** A customer with a client and a person, and a client of no customer that the person uses. */
async function openCustomer(fixture: OauthFixture) {
  const { admin, anonymous, createClient, createPerson } = fixture
  const { id: customer } = (await admin.post('/admin/customers', { name: 'Acme' })).body
  const client = await createClient({ customer })
  const person = await createPerson({ customer })
  const metadata = {
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
  }
  const agent = (await anonymous.post('/oauth/register', metadata)).body as Client
  const introspect = async (token: string) => {
    const { body } = await form(anonymous, '/oauth/introspect', { token }, basicOf(agent))
    return body.active as boolean
  }
  const pair = async (recipient: Client) => {
    const of = { ...fixture, person, client: recipient }
    return exchange(of, await obtainCode(of))
  }
  return { customer, client, person, agent, introspect, pair, of: { ...fixture, person } }
}

for (const { name } of databases) {
  test(`no grant and no introspection works after the deletion began [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, open)
    const { admin, anonymous } = fixture
    const { customer, client, person, agent, introspect, pair, of } = await openCustomer(fixture)
    const { access_token, refresh_token } = (await pair(agent)).body
    const [code, ownCode] = [
      await obtainCode({ ...of, client: agent }),
      await obtainCode({ ...of, client }),
    ]
    const byClient = () =>
      form(anonymous, '/oauth/token', { grant_type: 'client_credentials' }, basicOf(client))
    assert.equal((await byClient()).status, 200)
    assert.equal(await introspect(access_token), true)
    assert.equal(await introspect(refresh_token), true)
    const { key } = (
      await admin.post('/admin/keys', { name: 'k', scopes: ['orders:read'], customer })
    ).body

    assert.equal((await admin.delete(`/admin/customers/${customer}`)).status, 202)

    const exchanged = await exchange({ ...of, client: agent }, code)
    assert.deepEqual([exchanged.status, exchanged.body.error], [400, 'invalid_grant'])
    assert.equal(await introspect(access_token), false)
    assert.equal(await introspect(refresh_token), false)
    // A node may have the client in its cache for a second.
    const { body } = await eventually(byClient, ({ status }) => status !== 200)
    assert.equal(body.error, 'invalid_client')
    const own = await exchange({ ...of, client }, ownCode)
    assert.deepEqual([own.status, own.body.error], [401, 'invalid_client'])
    const device = await form(anonymous, '/oauth/device_authorization', {}, basicOf(client))
    assert.deepEqual([device.status, device.body.error], [401, 'invalid_client'])
    const refresh = { grant_type: 'refresh_token', refresh_token }
    assert.equal((await form(anonymous, '/oauth/token', refresh, basicOf(agent))).status, 400)
    const login = { username: person.email, password: PASSWORD }
    assert.equal((await anonymous.post('/auth/login', login)).status, 401)
    assert.equal((await fixture.anonymous.get('/api/v2/orders', { 'x-api-key': key })).status, 403)
  })

  test(`operators administer no credential of it [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name)
    const { admin, createClient } = fixture
    const { id: customer } = (await admin.post('/admin/customers', { name: 'Acme' })).body
    const { client_id: client } = await createClient({ customer })
    const key = (await admin.post('/admin/keys', { name: 'k', scopes: ['orders:read'], customer }))
      .body.id
    const changes: [method: string, path: string, body?: object][] = [
      ['PATCH', `/admin/clients/${client}`, { name: 'renamed' }],
      ['POST', `/admin/clients/${client}/rotate-secret`],
      ['PATCH', `/admin/keys/${key}`, { name: 'renamed' }],
      ['POST', `/admin/keys/${key}/roll`],
    ]
    const statuses = async () => {
      const replies: number[] = []
      for (const [method, path, body] of changes) {
        replies.push((await admin.send(method, path, body)).status)
      }
      return replies
    }
    assert.deepEqual(await statuses(), [200, 200, 200, 200])
    assert.equal((await admin.delete(`/admin/customers/${customer}`)).status, 202)
    assert.deepEqual(await statuses(), [404, 404, 404, 404])
  })

  test(`a person of a suspended customer gets no token for a code [${name}]`, async (t) => {
    const fixture = await openOauthFixture(t, name, open)
    const { customer, agent, introspect, pair, of } = await openCustomer(fixture)
    const { access_token } = (await pair(agent)).body
    const code = await obtainCode({ ...of, client: agent })
    const browser = openBrowser(fixture.app)
    await grantConsent(browser, authorizePath(agent), of.person)
    const remembered = () => browser.get(authorizePath(agent))
    assert.equal((await remembered()).status, 303)
    const suspend = (suspended: boolean) =>
      fixture.admin.patch(`/admin/customers/${customer}`, { suspended })
    assert.equal((await suspend(true)).status, 200)
    const { status, body } = await exchange({ ...of, client: agent }, code)
    assert.equal(status, 403)
    assert.match(body.error_description, /suspended/)
    assert.equal(await introspect(access_token), false)
    const page = await remembered()
    assert.equal(page.status, 200)
    assert.match(page.text, /name="password"/, 'a session of the sign-in page gives no code')
    // A suspension ends: the revocation of a token applies nevertheless.
    const revoked = { token: access_token }
    const revocation = await form(fixture.anonymous, '/oauth/revoke', revoked, basicOf(agent))
    assert.equal(revocation.status, 200)
    assert.equal((await suspend(false)).status, 200)
    assert.equal(await introspect(access_token), false)
    assert.equal((await exchange({ ...of, client: agent }, code)).status, 200, 'the code is unused')
  })
}
