/** §8.8 on a service of three versions: every response with a row, a name or an error. */
import assert from 'node:assert/strict'
import { eachService as each, type TestApp } from '../../../../test/rig/service.ts'
import { post } from '../fixtures/three-versions.ts'

const eachService = (name: string, body: (service: TestApp) => Promise<void>) =>
  each(name, body, { service: post })

const ada = { name: 'Ada King Lovelace', mail: 'ada@example.com' }
const light = { customer_id: 1, weight_kg: 1.5, fragile: 'yes' }

/** The first parcel in every version, after the action `hold`. */
const held = {
  v1: { customer_id: 1, status: 'packed', weight_kg: 1.5, fragile: 'yes', sticker: null },
  v2: { customer_id: 1, status: 'packed', weight_kg: 1.5, fragile: true },
  v3: { client_id: 1, status: 'held', weight_g: 1500, fragile: true },
}

eachService(
  'responses of create, read, list and actions have the shape of the version',
  async (service) => {
    const createReply = await service.post('/api/v1/clients', ada)
    assert.deepEqual(
      [createReply.status, createReply.headers.location],
      [201, '/api/v1/clients/1'],
      createReply.text,
    )
    assert.deepEqual(Object.keys(createReply.body), ['id', 'name', 'mail', 'created_at'])
    const parcel = await service.post('/api/v1/parcels', light)
    assert.deepEqual(
      [parcel.status, parcel.body.status, parcel.body.sticker],
      [201, 'packed', null],
      parcel.text,
    )
    const actionReply = await service.post('/api/v1/parcels/1/hold')
    const { updated_at } = actionReply.body
    const rest = { sent_at: null, updated_at }
    assert.deepEqual(actionReply.body, { id: 1, ...held.v1, ...rest })
    for (const [version, shape] of Object.entries(held)) {
      const at = `/api/${version}/parcels`
      const whole = { id: 1, ...shape, ...rest }
      assert.deepEqual((await service.get(`${at}/1`)).body, whole)
      for (const style of ['cursor', 'keyset', 'offset', 'page']) {
        const page = await service.get(`${at}?pagination=${style}`)
        assert.deepEqual(page.body.data, [whole], `${version} ${style}`)
      }
      const { _links, ...item } = (await service.get(`${at}?pagination=hypermedia`)).body.data[0]
      assert.deepEqual(item, whole)
      assert.deepEqual(_links, {
        self: `/api/${version}/parcels/1`,
        client: `/api/${version}/clients/1`,
      })
    }
  },
)

eachService('members have the order of the version', async ({ post, get }) => {
  await post('/api/v1/clients', ada)
  await post('/api/v1/parcels', light)
  const members = async (version: string) =>
    Object.keys((await get(`/api/${version}/parcels/1`)).body).join(' ')
  assert.equal(await members('v3'), 'id client_id status weight_g fragile sent_at updated_at')
  assert.equal(await members('v2'), 'id customer_id status weight_kg fragile sent_at updated_at')
  assert.equal(
    await members('v1'),
    'id customer_id status weight_kg fragile sticker sent_at updated_at',
  )
})

eachService('links to lists use the names of the version', async ({ post, get }) => {
  await post('/api/v1/clients', ada)
  await post('/api/v1/parcels', light)
  for (const [version, filter] of Object.entries({
    v1: 'customer_id=1&sort=-id',
    v2: 'customer_id=1&sort=-id',
    v3: 'client_id=1&sort=-id',
  })) {
    const [client] = (await get(`/api/${version}/clients?pagination=hypermedia`)).body.data
    assert.equal(client._links.parcels, `/api/${version}/parcels?${filter}`)
    const linked = await get(client._links.parcels)
    assert.deepEqual([linked.status, linked.body.data.length], [200, 1], linked.text)
  }
})

eachService('filters and sorts use the names of the version', async ({ post, get }) => {
  await post('/api/v3/clients', { first: 'A', last: '', email: 'a@example.com' })
  for (const weight_g of [300, 100, 200]) {
    await post('/api/v3/parcels', { client_id: 1, weight_g })
  }
  await post('/api/v3/parcels/2/hold')
  const ids = async (path: string) =>
    (await get(path)).body.data?.map((parcel: { id: number }) => parcel.id)
  assert.deepEqual(await ids('/api/v1/parcels?sort=customer_id,-id'), [3, 2, 1])
  assert.deepEqual(await ids('/api/v1/parcels?customer_id[in]=1,2&limit=2'), [1, 2])
  assert.deepEqual(await ids('/api/v3/parcels?status=held'), [2])
  // Converted and newer fields are not parameters of the old version.
  for (const query of ['weight_kg=1', 'weight_g=100', 'fragile=yes', 'client_id=1']) {
    const refused = await get(`/api/v1/parcels?${query}`)
    assert.deepEqual([refused.status, refused.body.error], [400, 'unknown_parameter'], query)
  }
})

eachService('errors have the pointers of the version', async ({ post, patch }) => {
  await post('/api/v1/clients', ada)
  await post('/api/v1/parcels', light)
  const table: readonly (readonly [string, object, string])[] = [
    ['v1', { ...light, customer_id: 9 }, '/customer_id'], // a reference
    ['v1', { ...light, weight_kg: 60 }, '/weight_kg'], // a rule for the newest row
    ['v2', { ...light, fragile: true, weight_kg: 60 }, '/weight_kg'],
    ['v1', { ...light, weight_kg: 0.0001 }, '/weight_kg'], // the old shape
    ['v1', { ...light, fragile: true }, '/fragile'],
    ['v1', { ...light, client_id: 1 }, '/client_id'],
    ['v3', { client_id: 9, weight_g: 1 }, '/client_id'],
  ]
  for (const [version, body, pointer] of table) {
    const refused = await post(`/api/${version}/parcels`, body)
    assert.equal(refused.status, 422, refused.text)
    assert.deepEqual(
      refused.body.errors.map((error: { pointer: string }) => error.pointer),
      [pointer],
      refused.text,
    )
  }
  const heavy = await patch('/api/v1/parcels/1', { weight_kg: 60 })
  assert.deepEqual([heavy.status, heavy.body.errors[0].pointer], [422, '/weight_kg'])
})

eachService(
  'PATCH in an old version changes the sent fields only',
  async ({ post, patch, get }) => {
    await post('/api/v1/clients', ada)
    await post('/api/v1/parcels', light)
    await post('/api/v1/parcels/1/hold')
    const patched = await patch('/api/v1/parcels/1', {
      weight_kg: 2.25,
      sticker: 'blue',
      _links: { self: 'whatever' },
      _warnings: [{ type: 'deprecated' }],
    })
    assert.deepEqual([patched.status, patched.body.weight_kg], [200, 2.25], patched.text)
    const now = (await get('/api/v3/parcels/1')).body
    // v1 returns a held parcel as packed; a patch of its weight leaves it held.
    assert.deepEqual([now.status, now.weight_g, now.fragile], ['held', 2250, true])
    const sent = await post('/api/v1/parcels', { ...light, _links: {}, _warnings: [] })
    assert.equal(sent.status, 201, sent.text)
  },
)

eachService('events have the shape of the pinned version', async ({ post, as, key }) => {
  await post('/api/v1/clients', ada)
  await post('/api/v1/parcels', light)
  await post('/api/v1/parcels/1/hold')
  for (const [version, shape] of Object.entries(held)) {
    const events = await as(await key({ api_version: version })).get('/events?pagination=page')
    const heldEvent = events.body.data.find(
      (event: { type: string }) => event.type === 'parcel.held',
    )
    const { id: _id, sent_at: _sent, updated_at: _at, ...object } = heldEvent.data.object
    assert.deepEqual(object, shape)
  }
})

eachService('OpenAPI describes each version', async ({ get }) => {
  const describe = async (version: string) => {
    const { components, paths } = (await get(`/openapi/${version}.json`)).body
    const { parameters } = paths[`/api/${version}/parcels`].get
    return {
      members: Object.keys(components.schemas.Parcel.properties),
      sent: Object.keys(components.schemas.ParcelCreate.properties),
      states: components.schemas.Parcel.properties.status.enum,
      // Each filter also has parameters for its operators: `status[in]`.
      filters: parameters
        .flatMap((parameter: { name?: string }) => parameter.name ?? [])
        .filter((name: string) => !name.includes('[')),
    }
  }
  assert.deepEqual(await describe('v1'), {
    members: [
      'id',
      'customer_id',
      'status',
      'weight_kg',
      'fragile',
      'sticker',
      'sent_at',
      'updated_at',
      'customer',
    ],
    sent: ['customer_id', 'weight_kg', 'fragile', 'sticker'],
    states: ['packed', 'sent', 'lost'],
    filters: ['sort', 'customer_id', 'status', 'expand'],
  })
  assert.deepEqual(await describe('v3'), {
    members: [
      'id',
      'client_id',
      'status',
      'weight_g',
      'fragile',
      'sent_at',
      'updated_at',
      'client',
    ],
    sent: ['client_id', 'weight_g', 'fragile'],
    states: ['packed', 'held', 'sent', 'lost'],
    filters: ['sort', 'client_id', 'status', 'weight_g', 'fragile', 'expand'],
  })
})
