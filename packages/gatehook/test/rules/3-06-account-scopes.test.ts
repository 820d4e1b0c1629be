/** §3.6: account scopes of persons and third-party clients: granted by name, never by default. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { accountScopes } from '../../src/access/scopes.ts'
import { sql } from '../../src/storage/sql.ts'
import { authorizePath, follow, openBrowser, openPlace, PASSWORD } from '../oauth/rig.ts'
import { bearerOf, mailOf, signing } from '../people/rig.ts'

const names = Object.keys(accountScopes)
const held = (scopes: readonly string[]) => scopes.filter((scope) => names.includes(scope))

eachService('a person has an account scope by grant only, and acts with it', async (service) => {
  const { make, login, token, operator, anybody } = await signing(service)
  assert.deepEqual(held((await make('ada')).scopes), [])
  const scope: string = (await login(mailOf('ada'))).body.scope
  assert.deepEqual(held(scope.split(' ')), [])
  // A row that gets a password later has the same default.
  const row = (await service.post('/api/v2/users', { name: 'b', email: mailOf('b') })).body
  const password = { password: 'correct horse' }
  assert.equal((await operator.put(`/admin/users/${row.id}/password`, password)).status, 204)
  assert.deepEqual(held((await operator.get(`/admin/users/${row.id}`)).body.scopes), [])
  const bob = await make('bob', { scopes: ['webhooks:read'] })
  const sent = bearerOf(await token(mailOf('bob')))
  assert.equal((await anybody.get('/webhooks', sent)).status, 200)
  assert.equal((await anybody.get('/events', sent)).status, 403)
  const patched = await operator.patch(`/admin/users/${bob.id}`, { scopes: ['keys:read'] })
  assert.deepEqual(patched.body.scopes, ['keys:read'])
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`a client gets its own scopes; the page names the customer [${kind}]`, async (t) => {
    const place = await openPlace(t, kind)
    const { app, admin, makeClient, makePerson } = place
    const customer = (await admin.post('/admin/customers', { name: 'Acme & Sons' })).body.id
    const granted = ['orders:read', 'webhooks:write', 'events:read']
    const person = await makePerson({ customer, scopes: granted })
    const plain = await makeClient({ customer, scopes: ['orders:read'] })
    const trusted = await makeClient({ customer, scopes: ['orders:read', 'webhooks:write'] })
    const browser = openBrowser(app)
    const typed = { username: person.email, password: PASSWORD, action: 'sign-in' }
    const asked = async (client: { client_id: string }) => {
      const path = authorizePath(client)
      const page = await browser.get(path)
      return page.status === 200 && /name="password"/.test(page.text)
        ? follow(browser, await browser.submit(page, typed))
        : page
    }
    const first = await asked(plain)
    assert.match(first.text, /<li>See your orders<\/li>/)
    assert.doesNotMatch(first.text, /Acme/)
    const second = await asked(trusted)
    assert.match(second.text, /<li>Create, change and delete the webhooks of Acme &amp; Sons<\/li>/)
    assert.doesNotMatch(second.text, /its events/)
    const refused = await browser.get(authorizePath(plain, { scope: 'webhooks:write' }))
    assert.equal(refused.location!.searchParams.get('error'), 'invalid_scope')
  })

  test(`an upgrade takes the account scopes that were given by default [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const before = await openService(t, kind, { url })
    const { make } = await signing(before)
    const [ada, bob] = [await make('ada'), await make('bob', { scopes: ['events:read'] })]
    const old =
      '["users:read","orders:read","orders:write","webhooks:read","webhooks:write","events:read"]'
    await before.app.db.write(async (tx) => {
      await tx.run(sql`UPDATE gh_people SET scopes = ${old} WHERE id = ${ada.id}`)
      await tx.run(sql`DELETE FROM gh_migrations WHERE number = 7`)
    })
    const after = await openService(t, kind, { url })
    const { operator } = await signing(after)
    const scopesOf = async (id: number) => (await operator.get(`/admin/users/${id}`)).body.scopes
    assert.deepEqual(await scopesOf(ada.id), ['users:read', 'orders:read', 'orders:write'])
    assert.deepEqual(await scopesOf(bob.id), ['events:read'])
  })
}
