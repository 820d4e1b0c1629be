/** §12.2: `GET /admin/search` finds anything by the beginning of its id or name. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'

const PATH = '/admin/search'

interface Result {
  readonly type: string
  readonly id: string
  readonly label: string
  readonly customer: string | null
  readonly mode: string | null
  readonly href: string
}

async function openSearch(service: TestApp) {
  const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const search = async (q: string): Promise<Result[]> => {
    const { status, body } = await admin.get(`${PATH}?q=${encodeURIComponent(q)}`)
    assert.equal(status, 200, JSON.stringify(body))
    return body.data
  }
  return { admin, search }
}

eachService('ids of the engine are found by their beginning', async (service) => {
  const { admin, search } = await openSearch(service)
  const acme = (await admin.post('/admin/customers', { name: 'Acme' })).body
  const key = (await admin.post('/admin/keys', { name: 'Shop', scopes: ['users:read'] })).body
  const user = { name: 'Ada', email: 'ada@example.com' }
  await service.post('/api/v2/users', user)
  const event = (await service.get('/events')).body.data[0]
  for (const [id, expected] of [
    [acme.id, { type: 'customer', label: 'Acme', href: `/console/customers/${acme.id}` }],
    [key.id, { type: 'key', label: 'Shop', href: `/console/keys/${key.id}` }],
    [event.id, { type: 'event', label: 'user.created', href: `/console/events/${event.id}` }],
  ] as const) {
    const [first] = await search(id)
    assert.deepEqual({ ...first, ...expected, id }, first)
    const results = await search(id.slice(0, -2))
    assert.ok(results.some((result) => result.id === id))
  }
  const [first] = await search(event.id)
  assert.deepEqual([first!.customer, first!.mode], ['cus_default', 'test'])
})

eachService('names are found by their beginning, with or without a capital', async (service) => {
  const { admin, search } = await openSearch(service)
  const acme = (await admin.post('/admin/customers', { name: 'Acme' })).body
  await admin.post('/admin/keys', { name: 'Acme backend', scopes: ['users:read'] })
  assert.deepEqual(
    (await search('acme')).map(({ type, label }) => [type, label]),
    [
      ['customer', 'Acme'],
      ['key', 'Acme backend'],
    ],
  )
  assert.equal((await search('Acm'))[0]!.id, acme.id)
  assert.deepEqual(await search('no row has this name'), [])
})

eachService('a row is found by its id, with its customer and mode', async (service) => {
  const { search } = await openSearch(service)
  const { body } = await service.post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  const results = await search(String(body.id))
  assert.deepEqual(results, [
    {
      type: 'row',
      id: String(body.id),
      label: `users ${body.id}`,
      customer: 'cus_default',
      mode: 'test',
      href: `/console/data/users/${body.id}?customer=cus_default&mode=test`,
    },
  ])
})

eachService('at most eight results, and any text is a search', async (service) => {
  const { admin, search } = await openSearch(service)
  for (let n = 0; n < 10; n++) await admin.post('/admin/customers', { name: `Shop ${n}` })
  assert.equal((await search('Shop')).length, 8)
  for (const text of ['%', "'", 'evt_', 'req_none', '99999999999999999999', 'ü', '__proto__']) {
    assert.deepEqual(await search(text), [], text)
  }
  assert.deepEqual(await search('constructor_x'), [])
  assert.equal((await admin.get(PATH)).status, 400)
  assert.equal((await admin.get(`${PATH}?q=${'x'.repeat(101)}`)).status, 400)
})
