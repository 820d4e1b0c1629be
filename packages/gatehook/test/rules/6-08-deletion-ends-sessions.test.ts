/** §6.8: the deletion of a row that signs in ends its sessions, on every node. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const PATH = '/api/v2/protected'

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`password and tokens are revoked within two seconds [${kind}]`, async (t) => {
    const url = await freshUrl(t, kind)
    const here = await openService(t, kind, { url })
    const there = await openService(t, kind, { url })
    await there.app.work()
    const { createPerson, login } = await openPeople(here)
    const ada = await createPerson('ada')
    const { access_token, refresh_token } = (await login(emailOf('ada'))).body
    const request = (headers: Record<string, string>) => there.as(undefined).get(PATH, headers)
    assert.equal((await request(bearerOf(access_token))).status, 200)
    assert.equal((await here.delete(`/api/v2/users/${ada.id}`)).status, 204)
    const refreshed = await there.as(undefined).post('/auth/refresh', { refresh_token })
    assert.deepEqual([refreshed.status, refreshed.body.error], [401, 'invalid_grant'])
    for (const headers of [bearerOf(access_token), basicOf(emailOf('ada'))]) {
      await eventually(
        () => request(headers),
        ({ status }) => status === 401,
      )
    }
    assert.equal((await login(emailOf('ada'))).status, 401)
  })
}

eachService('a failed deletion ends no session', async (service) => {
  const { createPerson, login, anonymous } = await openPeople(service)
  const ada = await createPerson('ada')
  const { access_token, refresh_token } = (await login(emailOf('ada'))).body
  await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
  assert.equal((await service.delete(`/api/v2/users/${ada.id}`)).status, 409)
  assert.equal((await anonymous.get(PATH, bearerOf(access_token))).status, 200)
  assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 200)
})

eachService('a new password, name or scopes, and disabling, end sessions too', async (service) => {
  const { createPerson, login, anonymous, operator } = await openPeople(service)
  const changes = [
    (id: number) => operator.put(`/admin/users/${id}/password`, { password: 'another horse' }),
    (id: number) => operator.patch(`/admin/users/${id}`, { disabled: true }),
    (id: number) => operator.patch(`/api/v2/users/${id}`, { email: emailOf('successor') }),
    (id: number) => operator.patch(`/admin/users/${id}`, { scopes: ['events:read'] }),
  ]
  for (const [n, change] of changes.entries()) {
    const person = await createPerson(`p${n}`, { mode: 'live' })
    const { access_token, refresh_token } = (await login(person.email)).body
    assert.ok((await change(person.id)).status < 300)
    assert.equal((await anonymous.get(PATH, bearerOf(access_token))).status, 401)
    assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 401)
  }
})

eachService('a sign-in just before a change of the password gets no session', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  const { db, people } = service.app
  const ada = await createPerson('ada')
  const signedIn = { username: ada.email }
  const person = await people.signIn(signedIn, PASSWORD, { address: '127.0.0.1' })
  await db.write((tx) => people.confirm(tx, person))
  await operator.put(`/admin/users/${ada.id}/password`, { password: 'another horse' })
  const confirmed = db.write((tx) => people.confirm(tx, person))
  await assert.rejects(confirmed, { code: 'invalid_credentials' })
})
