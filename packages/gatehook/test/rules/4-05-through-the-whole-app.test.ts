/** §4.4, §4.5 in a whole app: login, refresh, sessions, logout, a suspended customer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { bearerOf, emailOf, openPeople } from '../people/rig.ts'

eachService(
  'the tokens of a login are accepted, refreshed, listed and revoked',
  async (service) => {
    const { createPerson, login, anonymous } = await openPeople(service)
    const { id } = await createPerson('ada')
    const first = (await login(emailOf('ada'))).body
    const me = (token: string) => anonymous.get('/api/v1/protected', bearerOf(token))
    assert.deepEqual((await me(first.access_token)).body, { status: 'ok', user: String(id) })
    const { refresh_token } = first
    const second = (await anonymous.post('/auth/refresh', { refresh_token })).body
    const sessions = await anonymous.get('/auth/sessions', bearerOf(second.access_token))
    assert.deepEqual([sessions.status, sessions.body.data.length], [200, 1])
    const logout = await anonymous.post('/auth/logout', { refresh_token: second.refresh_token })
    assert.equal(logout.status, 204)
    for (const token of [first.access_token, second.access_token]) {
      assert.deepEqual(
        [(await me(token)).status, (await me(token)).body.error],
        [401, 'invalid_token'],
      )
    }
  },
)

eachService('tokens of a suspended customer are rejected and not refreshed', async (service) => {
  const { operator, createPerson, login, anonymous } = await openPeople(service)
  const customer = (await operator.post('/admin/customers', { name: 'other' })).body.id
  await createPerson('eve', { customer })
  const { access_token, refresh_token } = (await login(emailOf('eve'))).body
  const outcome = async () => {
    const used = await anonymous.get('/api/v1/protected', bearerOf(access_token))
    return used.status === 200 ? 200 : used.body.error
  }
  assert.equal(await outcome(), 200)
  await operator.patch(`/admin/customers/${customer}`, { suspended: true })
  assert.equal(await outcome(), 'customer_suspended')
  const refused = await anonymous.post('/auth/refresh', { refresh_token })
  assert.deepEqual([refused.status, refused.body.error], [403, 'customer_suspended'])
  await operator.patch(`/admin/customers/${customer}`, { suspended: false })
  assert.equal(await outcome(), 200)
  assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 200)
})

eachService('reuse emits an event that a key with access to all events lists', async (service) => {
  const { createPerson, login, anonymous } = await openPeople(service)
  await createPerson('ada')
  const { refresh_token } = (await login(emailOf('ada'))).body
  const second = (await anonymous.post('/auth/refresh', { refresh_token })).body
  await anonymous.post('/auth/refresh', { refresh_token: second.refresh_token })
  assert.equal((await anonymous.post('/auth/refresh', { refresh_token })).status, 401)
  const events = await service.get('/events?type=token.reuse_detected')
  assert.equal(events.body.data.length, 1)
  assert.equal(events.body.data[0].data.object.client_id, 'gatehook')
})

test('two apps on one database accept and revoke tokens of each other', async (t) => {
  const url = await freshUrl(t, 'postgres')
  const env = { GATEHOOK_PUBLIC_URL: 'http://localhost:8787' }
  const [here, there] = [
    await openService(t, 'postgres', { url, env }),
    await openService(t, 'postgres', { url, env }),
  ]
  const { createPerson, login, anonymous } = await openPeople(here)
  await createPerson('ada')
  const first = (await login(emailOf('ada'))).body
  const { refresh_token } = first
  const sides = [anonymous, there.as(undefined)]
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, n) => sides[n % 2]!.post('/auth/refresh', { refresh_token })),
  )
  const succeeded = replies.filter(({ status }) => status === 200)
  assert.deepEqual([succeeded.length, new Set(replies.map(({ status }) => status)).size], [1, 2])
  const bearer = bearerOf(succeeded[0]!.body.access_token)
  for (const side of sides) assert.equal((await side.get('/api/v1/protected', bearer)).status, 200)
  assert.equal((await sides[1]!.post('/auth/logout-all', undefined, bearer)).status, 204)
  for (const side of sides) assert.equal((await side.get('/api/v1/protected', bearer)).status, 401)
})
