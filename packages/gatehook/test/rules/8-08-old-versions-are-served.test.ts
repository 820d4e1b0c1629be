/** §8.8: requests of an old version go up; responses, pointers and events go down. */
import assert from 'node:assert/strict'
import { eachService as each, type TestApp } from '../../../../test/rig/service.ts'
import { club } from '../fixtures/club.ts'

const eachService = (name: string, body: (service: TestApp) => Promise<void>) =>
  each(name, body, { service: club })

const old = {
  full_name: 'Ada King Lovelace',
  height_mm: '1650',
  gold: true,
  mail: 'ada@example.com',
  points: 12,
}
const { gold: _gold, mail: _mail, ...unchanged } = old
const middle = { ...unchanged, height_mm: 1650, tier: 'gold', email: 'ada@example.com' }
const newest = {
  first: 'Ada',
  last: 'King Lovelace',
  height_mm: 1650,
  tier: 'gold',
  points: 12,
  email: 'ada@example.com',
}

eachService(
  'a row created in v1 is returned in the shape of every version',
  async ({ post, get }) => {
    const createReply = await post('/api/v1/people', old)
    assert.equal(createReply.status, 201, createReply.text)
    assert.equal(createReply.headers.location, '/api/v1/people/1')
    const { id, created_at } = createReply.body
    assert.deepEqual(createReply.body, {
      id,
      points: 12,
      created_at,
      full_name: old.full_name,
      height_mm: '1650',
      gold: true,
      mail: old.mail,
    })
    for (const [version, shape] of Object.entries({ v1: old, v2: middle, v3: newest })) {
      assert.deepEqual((await get(`/api/${version}/people/1`)).body, { id, created_at, ...shape })
      assert.deepEqual((await get(`/api/${version}/people`)).body.data, [
        { id, created_at, ...shape },
      ])
      const linked = (await get(`/api/${version}/people?pagination=hypermedia`)).body.data[0]
      assert.deepEqual(linked._links, { self: `/api/${version}/people/1` })
    }
    const some = await get('/api/v1/people?fields=gold,mail')
    assert.deepEqual(some.body.data, [{ gold: true, mail: old.mail }])
    assert.equal((await get('/api/v1/people?fields=tier')).body.error, 'invalid_parameter')
  },
)

eachService('omitted fields have the defaults of the requested version', async ({ post, get }) => {
  const { gold: _gold, points: _points, ...least } = old
  const createReply = await post('/api/v1/people', least)
  assert.deepEqual([createReply.body.gold, createReply.body.points], [false, 0])
  assert.equal((await get('/api/v3/people/1')).body.tier, 'basic')
})

eachService('errors name the fields of the requested version', async ({ post, patch, get }) => {
  const pointers = async (version: string, body: unknown) => {
    const refused = await post(`/api/${version}/people`, body)
    assert.equal(refused.status, 422, refused.text)
    return refused.body.errors.map((error: { pointer: string }) => error.pointer)
  }
  // The old shape, the newest shape, or a rule for the newest row rejects them.
  assert.deepEqual(await pointers('v1', { ...old, gold: 'yes' }), ['/gold'])
  assert.deepEqual(await pointers('v1', { ...old, tier: 'gold' }), ['/tier'])
  assert.deepEqual(await pointers('v1', { ...old, height_mm: '9999' }), ['/height_mm'])
  assert.deepEqual(await pointers('v1', { ...old, full_name: 'Unknown' }), ['/full_name'])
  assert.deepEqual(await pointers('v1', { ...old, points: 1 }), ['/gold'])
  assert.deepEqual(await pointers('v2', { ...middle, points: 1 }), ['/tier'])
  const createReply = await post('/api/v1/people', old)
  const other = await post('/api/v1/people', { ...old, mail: 'bob@example.com' })
  const taken = await patch(other.headers.location!, { mail: 'ADA@example.com' })
  assert.deepEqual([taken.status, taken.body.errors[0].pointer], [409, '/mail'])
  assert.match(taken.body.message, /^mail: /)
  const weak = await patch(createReply.headers.location!, { points: 3 })
  assert.deepEqual([weak.status, weak.body.errors[0].pointer], [422, '/gold'])
  assert.equal((await get('/events?pagination=page')).body.total, 2)
})

eachService(
  'PATCH in an old version writes the changed fields only',
  async ({ post, patch, get }) => {
    // The conversion of this name is lossy: only a patch of the name writes it.
    await post('/api/v3/people', { ...newest, first: 'Anna Maria', last: 'Sibylla' })
    const taller = await patch('/api/v1/people/1', { height_mm: '1700' })
    assert.deepEqual(
      [taller.status, taller.body.height_mm, taller.body.full_name],
      [200, '1700', 'Anna Maria Sibylla'],
    )
    const now = (await get('/api/v3/people/1')).body
    assert.deepEqual([now.first, now.last, now.height_mm], ['Anna Maria', 'Sibylla', 1700])
    await patch('/api/v1/people/1', { full_name: 'Anna Merian' })
    const renamed = (await get('/api/v3/people/1')).body
    assert.deepEqual([renamed.first, renamed.last], ['Anna', 'Merian'])
    const same = await patch('/api/v1/people/1', { full_name: 'Anna Merian' })
    assert.equal(same.status, 200)
    assert.equal((await get('/events?pagination=page')).body.total, 3)
  },
)

eachService('filters and sorts use the names of the version', async ({ post, get }) => {
  for (const n of [2, 1, 3]) {
    await post('/api/v3/people', { ...newest, points: 10 + n, email: `p${n}@example.com` })
  }
  const mails = async (query: string) =>
    (await get(`/api/v1/people?${query}`)).body.data.map(
      (person: { mail: string }) => person.mail[1],
    )
  assert.deepEqual(await mails('sort=mail'), ['1', '2', '3'])
  assert.deepEqual(await mails('sort=-mail'), ['3', '2', '1'])
  assert.deepEqual(await mails('mail=P2@example.com'), ['2'])
  assert.deepEqual(await mails('points[gte]=12&sort=points'), ['2', '3'])
  // Newer names, and names with another meaning in v1, are not parameters of v1.
  for (const query of [
    'email=p1@example.com',
    'tier=gold',
    'height_mm=1650',
    'first=Ada',
    'gold=true',
  ]) {
    assert.equal((await get(`/api/v1/people?${query}`)).body.error, 'unknown_parameter', query)
  }
  for (const sort of ['email', 'height_mm', 'full_name']) {
    assert.equal((await get(`/api/v1/people?sort=${sort}`)).body.error, 'invalid_parameter', sort)
  }
  assert.equal((await get('/api/v2/people?height_mm=1650')).body.data.length, 3)
})

eachService('events have the shape of the pinned version', async ({ post, get, as, key }) => {
  await post('/api/v1/people', old)
  const eventObject = async (pin: string) =>
    (await as(await key({ api_version: pin })).get('/events')).body.data[0].data.object
  const { id, created_at } = (await get('/api/v3/people/1')).body
  assert.deepEqual(await eventObject('v1'), { id, created_at, ...old })
  assert.deepEqual(await eventObject('v2'), { id, created_at, ...middle })
  assert.deepEqual(await eventObject('v3'), { id, created_at, ...newest })
  assert.deepEqual((await get('/events')).body.data[0].data.object, { id, created_at, ...newest })
})

eachService(
  'preconditions compare the representation of the version',
  async ({ post, get, patch }) => {
    const createReply = await post('/api/v1/people', old)
    const inV1 = (await get('/api/v1/people/1')).headers.etag!
    assert.equal(createReply.headers.etag, inV1)
    const inV3 = (await get('/api/v3/people/1')).headers.etag!
    assert.notEqual(inV1, inV3)
    assert.equal(
      (await patch('/api/v1/people/1', { points: 20 }, { 'if-match': inV3 })).status,
      412,
    )
    assert.equal(
      (await patch('/api/v1/people/1', { points: 20 }, { 'if-match': inV1 })).status,
      200,
    )
  },
)

eachService('OpenAPI describes the shape of each version', async ({ get }) => {
  for (const [version, shape] of Object.entries({ v1: old, v2: middle, v3: newest })) {
    const { components, paths } = (await get(`/openapi/${version}.json`)).body
    const names = Object.keys(components.schemas.Person.properties).sort()
    assert.deepEqual(names, [...Object.keys(shape), 'id', 'created_at'].sort(), version)
    const parameters = paths[`/api/${version}/people`].get.parameters
    const filters = parameters.flatMap((parameter: { name?: string }) => parameter.name ?? [])
    assert.equal(filters.includes('mail'), version === 'v1')
    assert.equal(filters.includes('height_mm'), version !== 'v1', 'a string in v1, a number later')
  }
})
