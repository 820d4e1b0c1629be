/** §3.6: people and third-party clients get account scopes by an explicit grant only. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { accountScopes } from '../../src/identity/access/scopes.ts'
import { authorizePath, follow, openBrowser, openOauthFixture, PASSWORD } from '../oauth/rig.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

const names = Object.keys(accountScopes)
const accountScopesIn = (scopes: readonly string[]) =>
  scopes.filter((scope) => names.includes(scope))

eachService('a person has an account scope after an explicit grant only', async (service) => {
  const { createPerson, login, token, operator, anonymous } = await openPeople(service)
  assert.deepEqual(accountScopesIn((await createPerson('ada')).scopes), [])
  const scope: string = (await login(emailOf('ada'))).body.scope
  assert.deepEqual(accountScopesIn(scope.split(' ')), [])
  // A row that gets a password later has the same default.
  const row = (await service.post('/api/v2/users', { name: 'b', email: emailOf('b') })).body
  const password = { password: 'correct horse' }
  assert.equal((await operator.put(`/admin/users/${row.id}/password`, password)).status, 204)
  assert.deepEqual(accountScopesIn((await operator.get(`/admin/users/${row.id}`)).body.scopes), [])
  const bob = await createPerson('bob', { scopes: ['webhooks:read'] })
  const headers = bearerOf(await token(emailOf('bob')))
  assert.equal((await anonymous.get('/webhooks', headers)).status, 200)
  assert.equal((await anonymous.get('/events', headers)).status, 403)
  const updated = await operator.patch(`/admin/users/${bob.id}`, { scopes: ['keys:read'] })
  assert.deepEqual(updated.body.scopes, ['keys:read'])
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a client gets its own scopes; the consent page names the customer [${kind}]`, async (t) => {
    const fixture = await openOauthFixture(t, kind)
    const { app, admin, createClient, createPerson } = fixture
    const customer = (await admin.post('/admin/customers', { name: 'Acme & Sons' })).body.id
    const personScopes = ['orders:read', 'webhooks:write', 'events:read']
    const person = await createPerson({ customer, scopes: personScopes })
    const plain = await createClient({ customer, scopes: ['orders:read'] })
    const trusted = await createClient({ customer, scopes: ['orders:read', 'webhooks:write'] })
    const browser = openBrowser(app)
    const fields = { username: person.email, password: PASSWORD, action: 'sign-in' }
    const openConsent = async (client: { client_id: string }) => {
      const path = authorizePath(client)
      const page = await browser.get(path)
      return page.status === 200 && /name="password"/.test(page.text)
        ? follow(browser, await browser.submit(page, fields))
        : page
    }
    const first = await openConsent(plain)
    assert.match(first.text, /<li>See your orders<\/li>/)
    assert.doesNotMatch(first.text, /Acme/)
    const second = await openConsent(trusted)
    assert.match(second.text, /<li>Create, change and delete the webhooks of Acme &amp; Sons<\/li>/)
    assert.doesNotMatch(second.text, /the events of/)
    const rejected = await browser.get(authorizePath(plain, { scope: 'webhooks:write' }))
    assert.equal(rejected.location!.searchParams.get('error'), 'invalid_scope')
  })
}
