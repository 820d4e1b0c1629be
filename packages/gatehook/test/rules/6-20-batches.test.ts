/** §6.20: `POST …/batch` creates up to 100 rows in one transaction, all or each on its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type Reply, type TestApp } from '../../../../test/rig/service.ts'
import { DeclarationError, Failure, f, resource, service } from '../../src/gatehook.ts'

const notes = resource('notes', {
  fields: { id: f.id(), name: f.string().max(20).unique(), size: f.int().min(0).default(1) },
  list: { filter: [], sort: [] },
  access: { read: 'notes:read', create: 'notes:write', update: false, delete: false },
  events: ['note.created'],
  batch: true,
})
  .before('v2', {
    why: 'A note has a name.',
    had: { title: f.string().max(20) },
    hadNot: ['name'],
    up: ({ title }) => ({ name: title }),
    down: ({ name }) => ({ title: name }),
    renamed: { title: 'name' },
  })
  .rule('create', ({ after }) => {
    const errors = [{ pointer: '/name', code: 'conflict', message: 'is late' }] as const
    if (after.name === 'full') throw new Failure('conflict', 'The shelf is full.')
    if (after.name === 'late') throw new Failure('conflict', 'It is late.', { errors })
  })
  .check('size_fits', ({ size }) => size !== 13, 'thirteen does not fit')

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const desk = { service: service({ name: 'desk', versions, resources: [notes] }) }

const named = (...names: string[]) => names.map((name) => ({ name }))
const counts = async ({ get }: TestApp) => [
  (await get('/api/v2/notes?pagination=page')).body.total,
  (await get('/events?pagination=page')).body.total,
]
const mistakesOf = ({ status, body }: Reply) => [
  status,
  body.error,
  ...(body.errors ?? [{ pointer: body.message }]).map(
    ({ pointer }: { pointer: string }) => pointer,
  ),
]

eachService(
  'a batch creates its rows with their events, in the order of the items',
  async (app) => {
    const { status, body } = await app.post('/api/v2/notes/batch', { items: named('a', 'b', 'c') })
    assert.equal(status, 200)
    assert.deepEqual(
      body.items.map((item: Reply & { index: number }) => [
        item.index,
        item.status,
        item.body.name,
      ]),
      [
        [0, 201, 'a'],
        [1, 201, 'b'],
        [2, 201, 'c'],
      ],
    )
    assert.deepEqual(await counts(app), [3, 3])
    const single = await app.get(`/api/v2/notes/${body.items[1].body.id}`)
    assert.deepEqual(single.body, body.items[1].body)
    const old = await app.post('/api/v1/notes/batch', { items: [{ title: 'd' }] })
    assert.equal(old.body.items[0].body.title, 'd')
  },
  desk,
)

eachService(
  'an atomic batch with a mistake creates no row, and reports each mistake with its pointer',
  async (app) => {
    const { post } = app
    const items = [{ name: 'a' }, {}, null, { name: 'b', size: -1, odd: 1 }]
    assert.deepEqual(mistakesOf(await post('/api/v2/notes/batch', { items })), [
      422,
      'validation_failed',
      '/items/1/name',
      '/items/2',
      '/items/3/odd',
      '/items/3/size',
    ])
    const taken = await post('/api/v2/notes/batch', { items: named('a', 'b', 'a') })
    assert.deepEqual(mistakesOf(taken), [409, 'conflict', '/items/2/name'])
    const old = await post('/api/v1/notes/batch', { items: [{ title: 'a' }, { title: 'a' }] })
    assert.deepEqual(mistakesOf(old), [409, 'conflict', '/items/1/title'])
    assert.deepEqual(await counts(app), [0, 0])
  },
  desk,
)

eachService(
  'a failure of a rule or check has a pointer to its item, in every version',
  async (app) => {
    const sentence = 'The shelf is full.'
    const send = async (items: object[], { version = 'v2', atomic = true } = {}) => {
      const { status, body } = await app.post(`/api/${version}/notes/batch`, { items, atomic })
      const { error, message, errors } = atomic ? body : body.items[1].body
      return [status, error, message, ...errors]
    }
    const full = [{ pointer: '/items/1', code: 'conflict', message: sentence }]
    const conflict = [409, 'conflict', `items/1: ${sentence}`, ...full]
    assert.deepEqual(await send(named('a', 'full')), conflict)
    const old = [{ title: 'a' }, { title: 'full' }]
    assert.deepEqual(await send(old, { version: 'v1' }), conflict)
    assert.deepEqual(await send(named('b', 'full'), { atomic: false }), [200, ...conflict.slice(1)])
    const late = { code: 'conflict', message: 'is late' }
    assert.deepEqual(await send(named('c', 'late')), [
      409,
      'conflict',
      'It is late.',
      { pointer: '/items/1/name', ...late },
    ])
    assert.deepEqual(await send([{ title: 'c' }, { title: 'late' }], { version: 'v1' }), [
      409,
      'conflict',
      'It is late.',
      { pointer: '/items/1/title', ...late },
    ])
    const check = await send([{ name: 'd' }, { name: 'e', size: 13 }])
    const thirteen = { code: 'size_fits', message: 'thirteen does not fit' }
    assert.deepEqual(check, [
      422,
      'validation_failed',
      'items/1/size: thirteen does not fit',
      { pointer: '/items/1/size', ...thirteen },
    ])
    assert.deepEqual(await counts(app), [1, 1])
  },
  desk,
)

eachService(
  'without atomic each item has its own status',
  async (app) => {
    const items = [{ name: 'a' }, { name: 'a' }, {}, { name: 'b' }]
    const { status, body } = await app.post('/api/v2/notes/batch', { items, atomic: false })
    assert.equal(status, 200)
    const statuses = body.items.map((item: Reply) => [item.status, item.body.error ?? null])
    assert.deepEqual(statuses, [
      [201, null],
      [409, 'conflict'],
      [422, 'validation_failed'],
      [201, null],
    ])
    assert.equal(body.items[1].body.errors[0].pointer, '/items/1/name')
    assert.equal(body.items[2].body.errors[0].pointer, '/items/2/name')
    assert.deepEqual(await counts(app), [2, 2])
  },
  desk,
)

eachService(
  'a repeated batch gets the stored response',
  async (app) => {
    const key = { 'idempotency-key': 'once' }
    const body = { items: named('a', 'b') }
    const first = await app.post('/api/v2/notes/batch', body, key)
    const again = await app.post('/api/v2/notes/batch', body, key)
    assert.equal(again.text, first.text)
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.deepEqual(await counts(app), [2, 2])
  },
  desk,
)

eachService(
  'a batch has 1 to 100 items, and requires the scope of a creation',
  async (app) => {
    const { post, as, key } = app
    const many = Array.from({ length: 101 }, (_, n) => ({ name: `n${n}` }))
    for (const body of [
      {},
      { items: [] },
      { items: many },
      { items: {} },
      [],
      { items: [1], x: 1 },
    ]) {
      const refused = await post('/api/v2/notes/batch', body)
      assert.deepEqual([refused.status, refused.body.error], [422, 'validation_failed'])
    }
    assert.equal((await post('/api/v2/notes/batch', { items: many.slice(1) })).status, 200)
    const reader = as(await key({ scopes: ['notes:read'] }))
    const refused = await reader.post('/api/v2/notes/batch', { items: named('z') })
    assert.equal(refused.body.error, 'insufficient_scope')
    assert.deepEqual(await counts(app), [100, 100])
  },
  desk,
)

eachService('a resource that does not declare batches has no such path', async ({ post }) => {
  assert.equal((await post('/api/v2/orders/batch', { items: [] })).status, 405)
})

test('a batch of a resource that clients do not create is rejected at start', () => {
  const { fields, list, events } = {
    fields: { id: f.id() },
    list: { filter: [], sort: [] },
    events: [],
  }
  const access = { read: 'r', create: false, update: false, delete: false } as const
  const odd = resource('odd', { fields, list, access, events, batch: true })
  assert.throws(
    () => service({ name: 's', versions: { v1: { released: '2026-01-01' } }, resources: [odd] }),
    (error) => error instanceof DeclarationError && /batch: access.create/.test(error.message),
  )
})

eachService(
  'an item that fails has the error of a response of its own, in each version',
  async ({ post }) => {
    for (const version of ['v1', 'v2']) {
      const alone = (await post(`/api/${version}/notes`, { colour: 1 })).body
      const batch = { items: [{ colour: 1 }], atomic: false }
      const { body } = (await post(`/api/${version}/notes/batch`, batch)).body.items[0]
      const errors = alone.errors.map((error: { pointer: string }) => ({
        ...error,
        pointer: `/items/0${error.pointer}`,
      }))
      assert.match(body.documentation, /\/errors#validation_failed$/)
      assert.match(body.request_id, /^req_/)
      const message = `items/0/${alone.message}`
      assert.deepEqual(body, { ...alone, request_id: body.request_id, message, errors })
    }
  },
  desk,
)
