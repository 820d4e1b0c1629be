/** §6.8: the deletion of a row that signs in ends its sessions, on every node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, mailOf, PASSWORD, signing } from '../people/rig.ts'

const PATH = '/api/v2/protected'

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`password and tokens are revoked within two seconds [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const here = await openService(t, kind, { url })
    const there = await openService(t, kind, { url })
    await there.app.work()
    const { make, login } = await signing(here)
    const ada = await make('ada')
    const { access_token, refresh_token } = (await login(mailOf('ada'))).body
    const request = (headers: Record<string, string>) => there.as(undefined).get(PATH, headers)
    assert.equal((await request(bearerOf(access_token))).status, 200)
    assert.equal((await here.delete(`/api/v2/users/${ada.id}`)).status, 204)
    const refreshed = await there.as(undefined).post('/auth/refresh', { refresh_token })
    assert.deepEqual([refreshed.status, refreshed.body.error], [401, 'invalid_grant'])
    for (const headers of [bearerOf(access_token), basicOf(mailOf('ada'))]) {
      await eventually(
        () => request(headers),
        ({ status }) => status === 401,
      )
    }
    assert.equal((await login(mailOf('ada'))).status, 401)
  })
}

eachService('a failed deletion ends no session', async (service) => {
  const { make, login, anybody } = await signing(service)
  const ada = await make('ada')
  const { access_token, refresh_token } = (await login(mailOf('ada'))).body
  await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
  assert.equal((await service.delete(`/api/v2/users/${ada.id}`)).status, 409)
  assert.equal((await anybody.get(PATH, bearerOf(access_token))).status, 200)
  assert.equal((await anybody.post('/auth/refresh', { refresh_token })).status, 200)
})

eachService('a new password, disabling and new scopes end sessions too', async (service) => {
  const { make, login, anybody, operator } = await signing(service)
  const changes = [
    (id: number) => operator.put(`/admin/users/${id}/password`, { password: 'another horse' }),
    (id: number) => operator.patch(`/admin/users/${id}`, { disabled: true }),
    (id: number) => operator.patch(`/admin/users/${id}`, { scopes: ['events:read'] }),
  ]
  for (const [n, change] of changes.entries()) {
    const person = await make(`p${n}`)
    const { access_token, refresh_token } = (await login(person.email)).body
    assert.ok((await change(person.id)).status < 300)
    assert.equal((await anybody.get(PATH, bearerOf(access_token))).status, 401)
    assert.equal((await anybody.post('/auth/refresh', { refresh_token })).status, 401)
  }
})

eachService('a sign-in just before a change of the password gets no session', async (service) => {
  const { make, operator } = await signing(service)
  const { db, people } = service.app
  const ada = await make('ada')
  const person = await people.signIn(ada.email, PASSWORD, { address: '127.0.0.1' })
  await db.write((tx) => people.confirm(tx, person))
  await operator.put(`/admin/users/${ada.id}/password`, { password: 'another horse' })
  const confirmed = db.write((tx) => people.confirm(tx, person))
  await assert.rejects(confirmed, { code: 'invalid_credentials' })
})
