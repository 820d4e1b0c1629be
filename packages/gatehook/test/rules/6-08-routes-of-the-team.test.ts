/**
 * §6.8: `.route(…)` adds an endpoint to the pipeline; its handler changes rows and records events
 * in one transaction.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { orders } from '../../service/resources/orders.ts'
import { users } from '../../service/resources/users.ts'
import { event, Failure, f, fields, service } from '../../src/gatehook.ts'

const bought = event('basket.bought', fields({ user_id: f.int(), orders: f.int() }))
const shop = service({
  name: 'shop',
  versions: { v1: { released: '2025-06-01' }, v2: { released: '2026-06-01' } },
  resources: [users, orders],
  events: [bought],
})
  .route({
    method: 'POST',
    path: '/baskets/:user/buy',
    scope: 'orders:write',
    summary: 'Buy several things at once',
    input: { amounts: f.string(), note: f.string().nullable().default(null) },
    output: { orders: [f.int()] },
    status: 201,
    async handle({ params, input, write }) {
      const rows = await write(async (tx) => {
        const user = await tx.get(users, Number(params.user))
        const created = []
        for (const amount of input.amounts.split('+').map(Number)) {
          if (amount === 13) throw new Failure('conflict', 'Thirteen is not possible.')
          if (amount === 14) throw new Error('a bug of the team')
          created.push(await tx.create(orders, { user_id: user.id, amount, note: input.note }))
        }
        await tx.emit(bought, { user_id: user.id, orders: created.length })
        return created
      })
      return { body: { orders: rows.map((row) => row.id) } }
    },
  })
  .route({
    method: 'GET',
    path: '/reports/:id',
    scope: 'reports:read',
    summary: 'A report',
    query: {
      size: f.int().min(1).max(9).default(3),
      since: f.time().nullable().default(null),
      all: f.bool().default(false),
      state: f.oneOf(['open', 'shut']).nullable().default(null),
      top: f.int().nullable().default(null),
    },
    output: {
      id: f.string(),
      size: f.int(),
      since: f.time().nullable(),
      all: f.bool(),
      state: f.oneOf(['open', 'shut']).nullable(),
      top: f.int().nullable(),
      version: f.string(),
    },
    handle: ({ params, query, version }) => ({ body: { id: params.id, ...query, version } }),
  })

const types = (reply: { body: { data: { type: string }[] } }) =>
  reply.body.data.map((event) => event.type)

eachService(
  'rows and events of a handler commit together',
  async (service) => {
    const { post, get } = service
    const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
    const path = `/api/v2/baskets/${user.id}/buy`
    const headers = { 'idempotency-key': 'k' }
    const bought = await post(path, { amounts: '5+6' }, headers)
    assert.deepEqual([bought.status, bought.body.orders.length], [201, 2])
    const replay = await post(path, { amounts: '5+6' }, headers)
    assert.deepEqual([replay.text, replay.headers['idempotent-replayed']], [bought.text, 'true'])
    const expectedTypes = ['user.created', 'order.created', 'order.created', 'basket.bought']
    assert.deepEqual(types(await get('/events')), expectedTypes)
    for (const [amounts, status] of [
      ['7+13', 409],
      ['7+14', 500],
    ] as const) {
      assert.equal((await post(path, { amounts })).status, status)
      assert.equal((await get('/api/v2/orders?pagination=page')).body.total, 2)
      assert.deepEqual(types(await get('/events')), expectedTypes)
    }
    assert.equal((await post('/api/v2/baskets/999/buy', { amounts: '1' })).status, 404)
    const refused = await post(path, { amounts: 5, more: 1 })
    assert.deepEqual(
      refused.body.errors.map((error: { pointer: string }) => error.pointer).sort(),
      ['/amounts', '/more'],
    )
  },
  { service: shop },
)

eachService(
  'a route validates its query, and requires scope and method',
  async (service) => {
    const { get, send, as, key } = service
    assert.deepEqual((await get('/api/v1/reports/x?size=4&all=true&since=2026-01-01')).body, {
      id: 'x',
      size: 4,
      since: '2026-01-01T00:00:00.000Z',
      all: true,
      state: null,
      top: null,
      version: 'v1',
    })
    // No text of a query is null.
    for (const [query, message] of [
      ['state=null', 'state must be one of open, shut.'],
      ['state=', 'state must be one of open, shut, not an empty string.'],
      ['top=null', 'top must be an integer, not a string.'],
    ] as const) {
      const { status, body } = await get(`/api/v2/reports/x?${query}`)
      assert.deepEqual([status, body.errors[0].message], [400, message], query)
    }
    assert.equal((await get('/api/v2/reports/x')).body.size, 3)
    for (const query of [
      'size=0x4',
      'size=1e0',
      'size=04',
      'size=10',
      'size=',
      'all=1',
      'since=soon',
      'size=4&size=4',
    ]) {
      const refused = await get(`/api/v2/reports/x?${query}`)
      assert.deepEqual([refused.status, refused.body.error], [400, 'invalid_parameter'], query)
      assert.equal(refused.body.errors[0].parameter, query.split('=')[0])
    }
    assert.equal((await get('/api/v2/reports/x?sise=4')).body.error, 'unknown_parameter')
    assert.equal((await send('DELETE', '/api/v2/reports/x')).status, 405)
    const narrow = as(await key({ scopes: ['orders:read'] }))
    assert.equal((await narrow.get('/api/v2/reports/x')).body.error, 'insufficient_scope')
    assert.equal((await as(undefined).get('/api/v2/reports/x')).status, 401)
  },
  { service: shop },
)

const lookups = service({
  name: 'lookups',
  versions: { v1: { released: '2025-06-01' } },
  resources: [users],
})
  .route({
    method: 'GET',
    path: '/people/:id',
    scope: 'users:read',
    summary: 'Read a person',
    output: { name: f.string() },
    handle: async ({ params, read }) => ({
      body: { name: String((await read.get(users, Number(params.id))).name) },
    }),
  })
  .route({
    method: 'POST',
    path: '/people/:id/:method',
    scope: 'users:write',
    summary: 'Change a person',
    output: {},
    status: 200,
    handle: async ({ params, write }) => {
      const id = Number(params.id)
      await write(async (tx) => {
        if (params.method === 'lock') await tx.lock(users, id)
        if (params.method === 'get') await tx.get(users, id)
        if (params.method === 'update') await tx.update(users, id, { name: 'Bo' })
        if (params.method === 'remove') await tx.remove(users, id)
      })
      return { body: {} }
    },
  })

eachService(
  'an id that no row can have is 404 for own code',
  async ({ get, post }) => {
    const malformedIds = ['abc', '0', '-1', '1.5', '1e400', '9007199254740993', 'NaN', '%20']
    for (const id of malformedIds) {
      const replies = [await get(`/api/v1/people/${id}`)]
      for (const method of ['lock', 'get', 'update', 'remove']) {
        replies.push(await post(`/api/v1/people/${id}/${method}`))
      }
      for (const { status, body } of replies) {
        assert.deepEqual([status, body.error], [404, 'not_found'], id)
      }
    }
  },
  { service: lookups },
)
