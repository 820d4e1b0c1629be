/**
 * §10.7: a state-changing request of another site with Basic or a cookie
 * is 403 `cross_site_request`.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { createConsoleLink, createOperator } from '../../src/identity/people/operators.ts'
import { basicOf, bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const CORS = 'https://app.example'
const env = { GATEHOOK_CORS_ORIGINS: CORS }
const ORDER = { amount: 100, currency: 'EUR' }
const foreign: readonly Record<string, string>[] = [
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  { origin: 'https://evil.example' },
  { origin: 'null' },
]
const own: readonly Record<string, string>[] = [
  {},
  { 'sec-fetch-site': 'same-origin' },
  { 'sec-fetch-site': 'none' },
  { origin: 'http://localhost' },
  { origin: CORS, 'sec-fetch-site': 'cross-site' },
  { origin: CORS },
]

eachService(
  'with Basic, a page of another site can read but not change',
  async (service) => {
    const { createPerson, token, anonymous } = await openPeople(service)
    const scopes = ['orders:read', 'orders:write']
    const ada = await createPerson('ada', { scopes })
    const order = { ...ORDER, user_id: ada.id }
    const basic = basicOf(emailOf('ada'))
    for (const headers of foreign) {
      const sent = { ...basic, ...headers }
      const refused = await anonymous.post('/api/v2/orders', order, sent)
      const text = JSON.stringify(headers)
      assert.equal(`${refused.status} ${refused.body.error}`, '403 cross_site_request', text)
      assert.equal((await anonymous.get('/api/v2/orders', sent)).status, 200, text)
    }
    const wrong = basicOf(emailOf('ada'), 'wrong password')
    const guess = await anonymous.post('/api/v2/orders', order, { ...wrong, ...foreign[0] })
    assert.equal(guess.status, 403, 'no password is hashed for it')
    assert.equal((await service.get('/api/v2/orders?pagination=page')).body.total, 0)
    for (const headers of own) {
      const created = await anonymous.post('/api/v2/orders', order, { ...basic, ...headers })
      assert.equal(created.status, 201, JSON.stringify(headers))
    }
    // A browser does not add keys and tokens itself; the page does.
    const bearer = bearerOf(await token(emailOf('ada')))
    for (const headers of foreign) {
      const created = await anonymous.post('/api/v2/orders', order, { ...bearer, ...headers })
      assert.equal(created.status, 201)
      assert.equal((await service.post('/api/v2/orders', order, headers)).status, 201)
    }
  },
  { env },
)

eachService(
  'with * as allowed origin, credentials of other sites are rejected',
  async (service) => {
    const { createPerson, anonymous } = await openPeople(service)
    const ada = await createPerson('ada', { scopes: ['orders:write'] })
    const sent = { ...basicOf(emailOf('ada')), origin: 'https://any.example' }
    const refused = await anonymous.post('/api/v2/orders', { ...ORDER, user_id: ada.id }, sent)
    assert.equal(refused.body.error, 'cross_site_request')
  },
  { env: { GATEHOOK_CORS_ORIGINS: '*' } },
)

eachService('a page of another site cannot change data with a console session', async (service) => {
  const login = { email: 'op@example.com', password: PASSWORD }
  const { app } = service
  await createOperator(app.administration, app.hasher, login, { kind: 'system', id: 't' } as never)
  const anonymous = service.as(undefined)
  const link = await createConsoleLink(app.administration, login.email, { kind: 'cli', id: 't' })
  const token = link.path.split('#token=')[1]
  const { headers } = await anonymous.post('/console/session', { token })
  const cookie = String([headers['set-cookie']].flat()[0]).split(';')[0]!
  const sent = { cookie, 'x-gatehook-console': '1' }
  for (const headers of foreign) {
    const refused = await anonymous.post('/admin/customers', { name: 'x' }, { ...sent, ...headers })
    assert.equal(refused.body.error, 'cross_site_request')
    const ended = await anonymous.delete('/console/session', { ...sent, ...headers })
    assert.equal(ended.body.error, 'cross_site_request')
  }
  assert.equal((await anonymous.post('/admin/customers', { name: 'x' }, sent)).status, 201)
})
