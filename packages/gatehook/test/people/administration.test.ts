import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { basicOf, mailOf, PASSWORD, signing } from './rig.ts'

const good = { name: 'Ada', email: mailOf('ada'), password: PASSWORD, mode: 'test' }

eachService('§13 a person is a row with credentials, made in one act', async (service) => {
  const { operator } = await signing(service)
  const made = await operator.post('/admin/users', { ...good, role: 'owner' })
  const { id, created_at, scopes, ...rest } = made.body
  assert.deepEqual([made.status, made.headers.location], [201, `/admin/users/${id}`])
  const beside = { role: 'owner', disabled: false, customer: 'cus_default', mode: 'test' }
  assert.deepEqual(rest, { name: 'Ada', email: good.email, ...beside })
  assert.deepEqual(scopes, ['users:read', 'orders:read', 'orders:write'])
  assert.deepEqual((await operator.get(`/admin/users/${id}`)).body, made.body)
  const row = await service.get(`/api/v2/users/${id}`)
  assert.deepEqual(row.body, { id, name: 'Ada', email: good.email, created_at })
  const events = (await service.get('/events')).body.data
  assert.deepEqual(
    events.map((one: { type: string }) => one.type),
    ['user.created'],
  )
  assert.ok(!made.text.includes(PASSWORD) && !JSON.stringify(events).includes(PASSWORD))
  const audit = await operator.get('/admin/audit?action=person.create')
  assert.deepEqual([audit.body.data[0].target, audit.text.includes(PASSWORD)], [String(id), false])
})

eachService(
  'what is wrong is told at once, for the row and for the credentials',
  async (service) => {
    const { operator, make } = await signing(service)
    const refused = async (body: unknown) => {
      const reply = await operator.post('/admin/users', body)
      assert.equal(reply.status, 422, JSON.stringify(body))
      return reply.body.errors.map((one: { pointer: string }) => one.pointer).toSorted()
    }
    assert.deepEqual(await refused({ nickname: 'x', password: 'short', role: 7 }), [
      '/email',
      '/name',
      '/nickname',
      '/password',
      '/role',
    ])
    assert.deepEqual(await refused({ ...good, scopes: ['orders:read', 'x:y'] }), ['/scopes/1'])
    assert.deepEqual(await refused({ ...good, scopes: ['admin'] }), ['/scopes/0'])
    assert.deepEqual(await refused({ ...good, customer: 'cus_unknown' }), ['/customer'])
    assert.deepEqual(await refused({ ...good, mode: 'prod' }), ['/mode'])
    assert.deepEqual(await refused([]), [''])
    await make('ada')
    const twice = await operator.post('/admin/users', { ...good, mode: 'test' })
    assert.deepEqual([twice.status, twice.body.error], [409, 'conflict'])
    assert.equal((await service.post('/admin/users', good)).status, 403)
  },
)

eachService('a row without credentials gets them with its first password', async (service) => {
  const { operator, anybody } = await signing(service)
  const { id } = (await service.post('/api/v2/users', { name: 'Bo', email: mailOf('bo') })).body
  assert.equal((await operator.get(`/admin/users/${id}`)).status, 404)
  assert.equal((await operator.patch(`/admin/users/${id}`, { role: 'x' })).status, 404)
  const set = (path: string, password: string) =>
    operator.put(`/admin/users/${path}/password`, { password })
  assert.equal((await set(String(id), 'short')).status, 422)
  assert.equal((await set(String(id), PASSWORD)).status, 204)
  assert.equal((await anybody.get('/api/v2/protected', basicOf(mailOf('bo')))).status, 200)
  assert.equal((await operator.get(`/admin/users/${id}`)).body.mode, 'test')
  for (const nobody of ['999', '0', '-1', '1e2', 'x', '9007199254740993']) {
    assert.equal((await set(nobody, PASSWORD)).status, 404, nobody)
  }
})

eachService('a repeat makes nobody twice, and tells nothing of the password', async (service) => {
  const { operator } = await signing(service)
  const headers = { 'idempotency-key': 'ada' }
  const first = await operator.post('/admin/users', good, headers)
  const again = await operator.post('/admin/users', good, headers)
  assert.deepEqual([again.status, again.body], [201, first.body])
  assert.equal(again.headers['idempotent-replayed'], 'true')
  const other = await operator.post('/admin/users', { ...good, password: 'another one' }, headers)
  assert.equal(other.body.error, 'idempotency_key_reused')
})

eachService('an admin person acts as the operator; others have no way there', async (service) => {
  const { make, anybody } = await signing(service)
  await make('root', { mode: 'live', scopes: ['admin'] })
  await make('ada')
  const ask = (name: string) => anybody.get('/admin/customers', basicOf(mailOf(name)))
  assert.equal((await ask('root')).status, 200)
  assert.deepEqual(
    [(await ask('ada')).status, (await ask('ada')).body.error],
    [403, 'insufficient_scope'],
  )
})

eachService('a suspended customer’s people are told so, and get nothing', async (service) => {
  const { make, operator, login, anybody } = await signing(service)
  const { id } = (await operator.post('/admin/customers', { name: 'Acme' })).body
  await make('ada', { customer: id })
  const ask = () => anybody.get('/api/v2/protected', basicOf(mailOf('ada')))
  assert.equal((await ask()).status, 200)
  assert.equal((await operator.patch(`/admin/customers/${id}`, { suspended: true })).status, 200)
  await eventually(ask, ({ status }) => status === 403)
  assert.equal((await login(mailOf('ada'))).body.error, 'customer_suspended')
  assert.equal((await login(mailOf('ada'), 'wrong')).body.error, 'invalid_credentials')
})

eachService('who can sign in is listed, in every style, for the operator only', async (service) => {
  const { make, operator } = await signing(service)
  const { id: acme } = (await operator.post('/admin/customers', { name: 'Acme' })).body
  const [ada, bob] = [await make('ada', { role: 'owner' }), await make('bob', { customer: acme })]
  await service.post('/api/v2/users', { name: 'x', email: 'x@example.com' })
  const idsOf = async (query: string) =>
    (await operator.get(`/admin/users?${query}`)).body.data.map((one: { id: number }) => one.id)
  for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
    assert.deepEqual(await idsOf(`pagination=${style}`), [ada.id, bob.id])
  }
  assert.deepEqual(await idsOf('customer=default'), [ada.id])
  assert.deepEqual(await idsOf('username=ADA@example.com'), [ada.id])
  const { data } = (await operator.get('/admin/users?role=owner')).body
  assert.deepEqual(Object.keys(data[0]), [
    ...['id', 'username', 'role', 'scopes', 'disabled', 'customer', 'mode', 'created_at'],
  ])
  assert.equal((await service.get('/admin/users')).status, 403)
})
