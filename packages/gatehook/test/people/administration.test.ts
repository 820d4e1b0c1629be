import assert from 'node:assert/strict'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { service as declare, f, resource } from '../../src/gatehook.ts'
import { basicOf, emailOf, openPeople, PASSWORD } from './rig.ts'

const newPerson = { name: 'Ada', email: emailOf('ada'), password: PASSWORD, mode: 'test' }

eachService(
  '§13 a person is a row with a credential, created in one operation',
  async (service) => {
    const { operator } = await openPeople(service)
    const created = await operator.post('/admin/users', { ...newPerson, role: 'owner' })
    const { id, created_at, scopes, ...rest } = created.body
    assert.deepEqual([created.status, created.headers.location], [201, `/admin/users/${id}`])
    assert.deepEqual(rest, {
      name: 'Ada',
      email: newPerson.email,
      role: 'owner',
      disabled: false,
      customer: 'cus_default',
      mode: 'test',
      identities: [],
    })
    assert.deepEqual(scopes, ['users:read', 'orders:read', 'orders:write'])
    assert.deepEqual((await operator.get(`/admin/users/${id}`)).body, created.body)
    const row = await service.get(`/api/v2/users/${id}`)
    assert.deepEqual(row.body, { id, name: 'Ada', email: newPerson.email, created_at })
    const events = (await service.get('/events')).body.data
    assert.deepEqual(
      events.map(({ type }: { type: string }) => type),
      ['user.created'],
    )
    assert.ok(!created.text.includes(PASSWORD) && !JSON.stringify(events).includes(PASSWORD))
    const audit = await operator.get('/admin/audit?action=person.create')
    assert.deepEqual(
      [audit.body.data[0].target, audit.text.includes(PASSWORD)],
      [String(id), false],
    )
  },
)

eachService('one response has the errors of the row and of the credential', async (service) => {
  const { operator, createPerson } = await openPeople(service)
  const errorPointers = async (body: unknown) => {
    const reply = await operator.post('/admin/users', body)
    assert.equal(reply.status, 422, JSON.stringify(body))
    return reply.body.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted()
  }
  assert.deepEqual(await errorPointers({ nickname: 'x', password: 'short', role: 7 }), [
    '/email',
    '/name',
    '/nickname',
    '/password',
    '/role',
  ])
  assert.deepEqual(await errorPointers({ ...newPerson, scopes: ['orders:read', 'x:y'] }), [
    '/scopes/1',
  ])
  assert.deepEqual(await errorPointers({ ...newPerson, scopes: ['admin'] }), ['/scopes/0'])
  assert.deepEqual(await errorPointers({ ...newPerson, customer: 'cus_unknown' }), ['/customer'])
  assert.deepEqual(await errorPointers({ ...newPerson, mode: 'prod' }), ['/mode'])
  assert.deepEqual(await errorPointers([]), [''])
  await createPerson('ada')
  const duplicate = await operator.post('/admin/users', { ...newPerson, mode: 'test' })
  assert.deepEqual([duplicate.status, duplicate.body.error], [409, 'conflict'])
  assert.equal((await service.post('/admin/users', newPerson)).status, 403)
})

eachService('a row without a credential gets one with its first password', async (service) => {
  const { operator, anonymous } = await openPeople(service)
  const { id } = (await service.post('/api/v2/users', { name: 'Bo', email: emailOf('bo') })).body
  assert.equal((await operator.get(`/admin/users/${id}`)).status, 404)
  assert.equal((await operator.patch(`/admin/users/${id}`, { role: 'x' })).status, 404)
  const set = (path: string, password: string) =>
    operator.put(`/admin/users/${path}/password`, { password })
  assert.equal((await set(String(id), 'short')).status, 422)
  assert.equal((await set(String(id), PASSWORD)).status, 204)
  assert.equal((await anonymous.get('/api/v2/protected', basicOf(emailOf('bo')))).status, 200)
  assert.equal((await operator.get(`/admin/users/${id}`)).body.mode, 'test')
  for (const id of ['999', '0', '-1', '1e2', 'x', '9007199254740993']) {
    assert.equal((await set(id, PASSWORD)).status, 404, id)
  }
})

eachService('an idempotent replay creates no second person', async (service) => {
  const { operator } = await openPeople(service)
  const headers = { 'idempotency-key': 'ada' }
  const first = await operator.post('/admin/users', newPerson, headers)
  const replay = await operator.post('/admin/users', newPerson, headers)
  assert.deepEqual([replay.status, replay.body], [201, first.body])
  assert.equal(replay.headers['idempotent-replayed'], 'true')
  const other = await operator.post(
    '/admin/users',
    { ...newPerson, password: 'another one' },
    headers,
  )
  assert.equal(other.body.error, 'idempotency_key_reused')
})

eachService('a person with `admin` reaches /admin; others are 403', async (service) => {
  const { createPerson, anonymous } = await openPeople(service)
  await createPerson('root', { mode: 'live', scopes: ['admin'] })
  await createPerson('ada')
  const listCustomers = (name: string) => anonymous.get('/admin/customers', basicOf(emailOf(name)))
  assert.equal((await listCustomers('root')).status, 200)
  assert.deepEqual(
    [(await listCustomers('ada')).status, (await listCustomers('ada')).body.error],
    [403, 'insufficient_scope'],
  )
})

eachService('people of a suspended customer are 403 customer_suspended', async (service) => {
  const { createPerson, operator, login, anonymous } = await openPeople(service)
  const { id } = (await operator.post('/admin/customers', { name: 'Acme' })).body
  await createPerson('ada', { customer: id })
  const getProtected = () => anonymous.get('/api/v2/protected', basicOf(emailOf('ada')))
  assert.equal((await getProtected()).status, 200)
  assert.equal((await operator.patch(`/admin/customers/${id}`, { suspended: true })).status, 200)
  await eventually(getProtected, ({ status }) => status === 403)
  assert.equal((await login(emailOf('ada'))).body.error, 'customer_suspended')
  assert.equal((await login(emailOf('ada'), 'wrong')).body.error, 'invalid_credentials')
})

eachService('people are listed in every style, for operators only', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  const { id: acme } = (await operator.post('/admin/customers', { name: 'Acme' })).body
  const [ada, bob] = [
    await createPerson('ada', { role: 'owner' }),
    await createPerson('bob', { customer: acme }),
  ]
  await service.post('/api/v2/users', { name: 'x', email: 'x@example.com' })
  const idsOf = async (query: string) =>
    (await operator.get(`/admin/users?${query}`)).body.data.map(({ id }: { id: number }) => id)
  for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
    assert.deepEqual(await idsOf(`pagination=${style}`), [ada.id, bob.id])
  }
  assert.deepEqual(await idsOf('customer=default'), [ada.id])
  assert.deepEqual(await idsOf('username=ADA@example.com'), [ada.id])
  const { data } = (await operator.get('/admin/users?role=owner')).body
  assert.deepEqual(Object.keys(data[0]), [
    'id',
    'name',
    'email',
    'username',
    'role',
    'scopes',
    'disabled',
    'customer',
    'mode',
    'created_at',
    'last_sign_in_at',
  ])
  assert.equal((await service.get('/admin/users')).status, 403)
})

eachService('the list of people has the name and the address of each row', async (service) => {
  const { createPerson, operator } = await openPeople(service)
  const { id } = await createPerson('ada')
  const namesOf = async (query = '') => (await operator.get(`/admin/users?${query}`)).body.data
  const read = async () => {
    const [{ name, email, username }] = await namesOf()
    return [name, email, username]
  }
  assert.deepEqual(await read(), ['ada', emailOf('ada'), emailOf('ada')])
  assert.equal((await service.patch(`/api/v2/users/${id}`, { name: 'Ada L.' })).status, 200)
  const row = `/admin/as/default/test/api/v2/users/${id}`
  assert.equal((await operator.patch(row, { email: emailOf('lovelace') })).status, 200)
  assert.deepEqual(await read(), ['Ada L.', emailOf('lovelace'), emailOf('lovelace')])
  const selected = await namesOf('fields=email,id')
  assert.deepEqual(selected, [{ id, email: emailOf('lovelace') }])
  const late = (await service.post('/api/v2/users', { name: 'Bo', email: emailOf('bo') })).body.id
  await operator.put(`/admin/users/${late}/password`, { password: PASSWORD })
  assert.deepEqual(
    (await namesOf('sort=id')).map(({ name }: { name: string }) => name),
    ['Ada L.', 'Bo'],
  )
})

const logins = declare({
  name: 'Logins',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    resource('accounts', {
      fields: { id: f.id(), login: f.string().unique() },
      list: { filter: [], sort: ['id'] },
      access: { read: 'a:read', create: 'a:write', update: 'a:write', delete: 'a:write' },
      events: [],
    }).signsIn({ username: 'login' }),
  ],
})

eachService(
  'a sign-in name that is no address is no `email`, and `admin` alone changes it',
  async (service) => {
    const { operator, anonymous, login } = await openPeople(service)
    const body = { login: 'ada', password: PASSWORD, mode: 'test' }
    const created = await operator.post('/admin/users', body)
    assert.equal(created.status, 201, created.text)
    const { id } = created.body
    const [{ name, email, username }] = (await operator.get('/admin/users')).body.data
    assert.deepEqual([name, email, username], [null, null, 'ada'])
    const change = await anonymous.post('/auth/username', { username: 'x', password: PASSWORD })
    assert.equal(change.status, 404)
    const row = `/admin/as/default/test/api/v1/accounts/${id}`
    assert.equal((await operator.patch(row, { login: 'lovelace' })).status, 200)
    assert.equal((await login('lovelace')).status, 200)
  },
  { service: logins },
)
