/** §4.4, §4.5 in a whole app: login, refresh, sessions, logout, a suspended customer. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl } from '../../../../test/rig/databases.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { bearerOf, mailOf, signing } from '../people/rig.ts'

eachService(
  'the tokens of a login are accepted, refreshed, listed and revoked',
  async (service) => {
    const { make, login, anybody } = await signing(service)
    const { id } = await make('ada')
    const first = (await login(mailOf('ada'))).body
    const me = (token: string) => anybody.get('/api/v1/protected', bearerOf(token))
    assert.deepEqual((await me(first.access_token)).body, { status: 'ok', user: String(id) })
    const { refresh_token } = first
    const second = (await anybody.post('/auth/refresh', { refresh_token })).body
    const sessions = await anybody.get('/auth/sessions', bearerOf(second.access_token))
    assert.deepEqual([sessions.status, sessions.body.data.length], [200, 1])
    const logout = await anybody.post('/auth/logout', { refresh_token: second.refresh_token })
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
  const { operator, make, login, anybody } = await signing(service)
  const customer = (await operator.post('/admin/customers', { name: 'other' })).body.id
  await make('eve', { customer })
  const { access_token, refresh_token } = (await login(mailOf('eve'))).body
  const outcome = async () => {
    const used = await anybody.get('/api/v1/protected', bearerOf(access_token))
    return used.status === 200 ? 200 : used.body.error
  }
  assert.equal(await outcome(), 200)
  await operator.patch(`/admin/customers/${customer}`, { suspended: true })
  assert.equal(await outcome(), 'customer_suspended')
  const refused = await anybody.post('/auth/refresh', { refresh_token })
  assert.deepEqual([refused.status, refused.body.error], [403, 'customer_suspended'])
  await operator.patch(`/admin/customers/${customer}`, { suspended: false })
  assert.equal(await outcome(), 200)
  assert.equal((await anybody.post('/auth/refresh', { refresh_token })).status, 200)
})

eachService('reuse emits an event that a key with access to all events lists', async (service) => {
  const { make, login, anybody } = await signing(service)
  await make('ada')
  const { refresh_token } = (await login(mailOf('ada'))).body
  const second = (await anybody.post('/auth/refresh', { refresh_token })).body
  await anybody.post('/auth/refresh', { refresh_token: second.refresh_token })
  assert.equal((await anybody.post('/auth/refresh', { refresh_token })).status, 401)
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
  const { make, login, anybody } = await signing(here)
  await make('ada')
  const first = (await login(mailOf('ada'))).body
  const { refresh_token } = first
  const sides = [anybody, there.as(undefined)]
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
