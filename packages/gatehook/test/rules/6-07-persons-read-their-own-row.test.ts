/** §6.7: a row that signs in owns itself, on every path. */
import assert from 'node:assert/strict'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { basicOf, bearerOf, emailOf, openPeople } from '../people/rig.ts'

/** Returns a caller with the access token of a person. */
async function personOf(service: TestApp, name: string, scopes?: readonly string[]) {
  const { createPerson, token, anonymous } = await openPeople(service)
  const { id } = await createPerson(name, scopes && { scopes })
  const sent = bearerOf(await token(emailOf(name)))
  const caller: Pick<Caller, 'get' | 'send'> = {
    get: (path, headers) => anonymous.get(path, { ...sent, ...headers }),
    send: (method, path, body, headers) =>
      anonymous.send(method, path, body, { ...sent, ...headers }),
  }
  return { ...caller, id: id as number, anonymous }
}

const ids = (body: { data: { id: number }[] }) => body.data.map((row) => row.id)

eachService('every list style holds one row, and every total is one', async (service) => {
  const bob = await personOf(service, 'bob')
  const ada = await personOf(service, 'ada')
  for (const version of ['v1', 'v2']) {
    const path = `/api/${version}/users`
    for (const style of ['cursor', 'keyset', 'offset', 'page', 'hypermedia']) {
      const { body, status } = await ada.get(`${path}?pagination=${style}`)
      assert.deepEqual([status, ids(body)], [200, [ada.id]], style)
      assert.doesNotMatch(JSON.stringify(body), /bob/)
      const total = body.total ?? body.meta?.total
      if (total !== undefined) assert.equal(total, 1)
      if (style === 'cursor' || style === 'keyset') assert.equal(body.has_more, false)
    }
    const sorted = await ada.get(`${path}?sort=-email,name&fields=email`)
    assert.deepEqual(sorted.body.data, [{ email: emailOf('ada') }])
    for (const filter of [
      `id=${bob.id}`,
      `id[ne]=${ada.id}`,
      `id[in]=${bob.id},${bob.id + 9}`,
      `email=${emailOf('bob')}`,
      'name=bob',
      'created_at[gt]=2000-01-01T00:00:00Z&name[gte]=b',
    ]) {
      const filtered = await ada.get(`${path}?pagination=offset&${filter}`)
      assert.deepEqual([filtered.body.total, filtered.body.data], [0, []], filter)
    }
  }
})

eachService('the row of another person is 404 by every method and condition', async (service) => {
  const bob = await personOf(service, 'bob')
  const ada = await personOf(service, 'ada', ['users:read', 'users:write'])
  for (const version of ['v1', 'v2']) {
    const path = `/api/${version}/users/${bob.id}`
    const { etag } = (await bob.get(path)).headers
    const conditions = [{}, { 'if-match': '"x"' }, { 'if-match': '*' }, { 'if-match': etag! }]
    for (const headers of [...conditions, { 'if-none-match': etag! }]) {
      const read = await ada.get(path, headers)
      assert.deepEqual([read.status, read.body.error], [404, 'not_found'])
    }
    for (const headers of conditions) {
      const patch = await ada.send('PATCH', path, { name: 'x' }, headers)
      const removal = await ada.send('DELETE', path, undefined, headers)
      assert.deepEqual([patch.status, removal.status], [404, 404])
    }
  }
  assert.equal((await service.get(`/api/v2/users/${bob.id}`)).body.name, 'bob')
})

eachService('a person reads and changes its own row, also by Basic', async (service) => {
  const ada = await personOf(service, 'ada', ['users:read', 'users:write'])
  const path = `/api/v2/users/${ada.id}`
  assert.equal((await ada.get(path)).status, 200)
  const basic = basicOf(emailOf('ada'))
  assert.equal((await ada.anonymous.get(path, basic)).body.email, emailOf('ada'))
  assert.deepEqual(ids((await ada.anonymous.get('/api/v2/users', basic)).body), [ada.id])
  const renamed = await ada.anonymous.patch(path, { name: 'Ada' }, basic)
  assert.deepEqual([renamed.status, renamed.body.name], [200, 'Ada'])
})

eachService('a new row is another person, which requires `users:all`', async (service) => {
  const ada = await personOf(service, 'ada', ['users:write'])
  const body = { name: 'Eve', email: emailOf('eve') }
  const refused = await ada.send('POST', '/api/v2/users', body)
  assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
  assert.match(refused.body.message, /users:all/)
  assert.deepEqual((await service.get(`/api/v2/users?email=${emailOf('eve')}`)).body.data, [])
  const chief = await personOf(service, 'chief', ['users:write', 'users:all'])
  assert.equal((await chief.send('POST', '/api/v2/users', body)).status, 201)
})

eachService('`users:all` gives access to all rows; an account scope does not', async (service) => {
  const bob = await personOf(service, 'bob')
  const [chief, clerk] = [
    await personOf(service, 'chief', ['users:read', 'users:all']),
    await personOf(service, 'clerk', ['users:read', 'webhooks:write', 'events:read', 'keys:read']),
  ]
  assert.deepEqual(ids((await chief.get('/api/v2/users')).body), [bob.id, chief.id, clerk.id])
  assert.equal((await chief.get(`/api/v2/users/${bob.id}`)).status, 200)
  assert.deepEqual(ids((await clerk.get('/api/v2/users')).body), [clerk.id])
  assert.equal((await clerk.get(`/api/v2/users/${bob.id}`)).status, 404)
})

eachService('cursors, entity tags and idempotency keys belong to one person', async (service) => {
  const [ada, bob] = [await personOf(service, 'ada'), await personOf(service, 'bob')]
  for (const who of [ada, bob]) {
    for (let n = 0; n < 3; n++) await service.post('/api/v2/orders', { user_id: who.id, amount: 1 })
  }
  const { next_cursor } = (await ada.get('/api/v2/orders?limit=1')).body
  const taken = await bob.get(`/api/v2/orders?limit=1&cursor=${next_cursor}`)
  assert.deepEqual([taken.status, taken.body.error], [400, 'cursor_mismatch'])
  const once = { 'idempotency-key': 'shared-key' }
  const order = (who: { id: number }) => ({ user_id: who.id, amount: 7 })
  const first = await ada.send('POST', '/api/v2/orders', order(ada), once)
  const second = await bob.send('POST', '/api/v2/orders', order(bob), once)
  assert.deepEqual([first.status, second.status], [201, 201])
  assert.equal(second.headers['idempotent-replayed'], undefined)
  assert.equal(second.body.user_id, bob.id)
  const forged = await bob.send('POST', '/api/v2/orders', order(ada), once)
  assert.equal(forged.status, 422)
  assert.notEqual(forged.body.id, first.body.id)
})

eachService('links lead to rows of the person', async (service) => {
  const ada = await personOf(service, 'ada')
  await service.post('/api/v2/orders', { user_id: ada.id, amount: 1 })
  for (const path of ['users', 'orders']) {
    const { body } = await ada.get(`/api/v1/${path}?pagination=hypermedia`)
    for (const link of Object.values(body.data[0]._links) as string[]) {
      assert.equal((await ada.get(link)).status, 200, link)
    }
  }
})

eachService(
  'by default a person reads its row, and reads and writes its orders',
  async (service) => {
    const { createPerson, login } = await openPeople(service)
    assert.deepEqual((await createPerson('ada')).scopes, [
      'users:read',
      'orders:read',
      'orders:write',
    ])
    const { scope } = (await login(emailOf('ada'))).body
    assert.equal(scope, 'users:read orders:read orders:write')
    const ada = await personOf(service, 'eve')
    const needed: [method: string, path: string, scope: string, body?: object][] = [
      ['PATCH', `/api/v2/users/${ada.id}`, 'users:write', { name: 'x' }],
      ['DELETE', `/api/v2/users/${ada.id}`, 'users:write'],
      ['GET', '/webhooks', 'webhooks:read'],
      ['POST', '/webhooks', 'webhooks:write', {}],
      ['GET', '/events', 'events:read'],
      ['POST', '/events', 'events:write', {}],
    ]
    for (const [method, path, name, body] of needed) {
      const refused = await ada.send(method, path, body)
      assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'], path)
      assert.match(refused.body.message, new RegExp(name))
    }
  },
)
