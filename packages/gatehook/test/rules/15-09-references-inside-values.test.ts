/**
 * §15.9: `f.ref` inside objects and lists: verified before rules run, part of `onDelete`, named by
 * `expand`, within the reach of the caller.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { createRowPurge } from '../../src/declare/resources/purge.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { f, resource, type ServiceTx, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { ok, refused } from '../lists/rows.ts'

const access = (name: string) =>
  ({
    read: `${name}:read`,
    create: `${name}:write`,
    update: `${name}:write`,
    delete: `${name}:write`,
  }) as const
const list = { filter: [], sort: ['id'] } as const
const ruleRuns: unknown[] = []

const makers = resource('makers', {
  fields: { id: f.id(), name: f.string().max(40) },
  list,
  access: access('makers'),
  events: [],
})
const products = resource('products', {
  fields: { id: f.id('prod'), name: f.string().max(40), maker_id: f.ref('makers') },
  list,
  access: access('products'),
  softDelete: { scope: 'products:deleted', purgeAfterDays: 1 },
  events: [],
}).before('v2', {
  why: 'Titles are names.',
  had: { title: f.string().max(40) },
  hadNot: ['name'],
  up: ({ title }) => ({ name: title }),
  down: ({ name }) => ({ title: name }),
  renamed: { title: 'name' },
})
const line = f.object({
  product_id: f.ref('products', 'prod'),
  /** A sibling has the name of the relation, so that the row replaces the id. */
  maker: f.string().max(9).default(''),
  maker_id: f.ref('makers').onDelete('setNull').nullable().default(null),
  count: f.int().default(1),
})
const carts = resource('carts', {
  fields: {
    id: f.id(),
    lines: f.array(line, { max: 50 }).default([]),
    liked: f.array(f.ref('products', 'prod'), { max: 9 }).default([]),
    gift: f
      .object({ maker_id: f.ref('makers').nullable().default(null) })
      .nullable()
      .default(null),
    note: f.string().max(90).default(''),
    secret: f.array(f.ref('makers'), { max: 2 }).default([]).visible('carts:secret'),
  },
  list,
  search: ['note'],
  batch: true,
  access: access('carts'),
  softDelete: { scope: 'carts:deleted', purgeAfterDays: 1 },
  events: ['cart.created', 'cart.updated'],
})
  .rule('create', ({ after }) => void ruleRuns.push(after.lines))
  .before('v2', {
    why: 'Rows are lines.',
    had: { rows: f.array(line, { max: 50 }).default([]) },
    hadNot: ['lines'],
    up: ({ rows }) => ({ lines: rows }),
    down: ({ lines }) => ({ rows: lines }),
    renamed: { rows: 'lines' },
  })
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
  resources: [carts, products, makers],
})
const options = { service: shop }

const created = async (app: Pick<TestApp, 'post'>, name: string, body: object) => {
  const reply = await app.post(`/api/v2/${name}`, body)
  assert.equal(reply.status, 201, reply.text)
  return reply.body
}

/** Creates two makers, and a product of each. */
async function fillShop(app: Pick<TestApp, 'post'>): Promise<readonly [string, string]> {
  const [oak, elm] = [
    await created(app, 'makers', { name: 'Oak' }),
    await created(app, 'makers', { name: 'Elm' }),
  ]
  const desk = await created(app, 'products', { name: 'Desk', maker_id: oak.id })
  const lamp = await created(app, 'products', { name: 'Lamp', maker_id: elm.id })
  return [desk.id, lamp.id]
}

eachService(
  'each id is verified before a rule runs, on each way, and each mistake has its pointer',
  async (app) => {
    const [desk] = await fillShop(app)
    const foreign = app.as(await app.key({ mode: 'live' }))
    const [other] = await fillShop(foreign)
    const lines = [{ product_id: desk }, { product_id: other, maker_id: 9 }]
    const pointers = ['/lines/1/product_id', '/lines/1/maker_id', '/gift/maker_id']
    ruleRuns.length = 0
    const refusal = await app.post('/api/v2/carts', { lines, gift: { maker_id: 3 } })
    assert.equal(refusal.status, 422, refusal.text)
    assert.deepEqual(
      refusal.body.errors.map(({ pointer }: { pointer: string }) => pointer),
      pointers,
    )
    assert.match(refusal.body.message, /is not the id of a row of products/)
    assert.deepEqual(ruleRuns, [])
    const old = await app.post('/api/v1/carts', { rows: lines })
    assert.equal(old.body.errors[0].pointer, '/rows/1/product_id')
    const batch = await app.post('/api/v2/carts/batch', { items: [{ lines: [] }, { lines }] })
    assert.equal(batch.body.errors[0].pointer, '/items/1/lines/1/product_id')
    const { id } = await created(app, 'carts', { lines: [{ product_id: desk }] })
    const patch = await app.patch(`/api/v2/carts/${id}`, { liked: [desk, other] })
    assert.equal(patch.body.errors[0].pointer, '/liked/1')
    const malformed = await app.post('/api/v2/carts', { lines: [{ product_id: 7 }] })
    assert.equal(malformed.status, 422)
    assert.equal(malformed.body.errors[0].pointer, '/lines/0/product_id')
    assert.equal((await app.get('/api/v2/carts')).body.data.length, 1)
  },
  options,
)

eachService(
  'a row to which a value refers is not deleted, until no value refers to it',
  async (app) => {
    const [desk, lamp] = await fillShop(app)
    const cart = await created(app, 'carts', { lines: [{ product_id: desk }], liked: [lamp] })
    for (const id of [desk, lamp]) {
      const reply = await app.delete(`/api/v2/products/${id}`)
      assert.equal(reply.status, 409, reply.text)
      assert.match(reply.body.message, /Rows of carts still refer to this row of products/)
    }
    await app.patch(`/api/v2/carts/${cart.id}`, { lines: [], liked: [lamp, lamp] })
    assert.equal((await app.delete(`/api/v2/products/${desk}`)).status, 204)
    assert.equal((await app.delete(`/api/v2/carts/${cart.id}`)).status, 204)
    assert.equal((await app.delete(`/api/v2/products/${lamp}`)).status, 204)
    // The restored cart needs its rows again.
    const restore = await app.post(`/api/v2/carts/${cart.id}/restore`)
    assert.equal(restore.body.errors[0].pointer, '/liked/0')
    // No word of a text finds a reference.
    for (const q of ['lines', 'product_id', desk, '=lines']) {
      assert.deepEqual((await ok(app.get(`/api/v2/carts?q=${q}`))).body.data, [])
    }
  },
  options,
)

eachService(
  "onDelete('setNull') clears the members that refer to a row, with an event of each row",
  async (app) => {
    const [desk] = await fillShop(app)
    const oak = await created(app, 'makers', { name: 'Ash' })
    const lines = [
      { product_id: desk, maker_id: oak.id },
      { product_id: desk, maker_id: 2 },
      { product_id: desk, maker_id: oak.id, count: 3 },
    ]
    const cart = await created(app, 'carts', { lines })
    assert.equal((await app.delete(`/api/v2/makers/${oak.id}`)).status, 204)
    const read = await ok(app.get(`/api/v2/carts/${cart.id}`))
    assert.deepEqual(
      read.body.lines.map(({ maker_id }: { maker_id: number | null }) => maker_id),
      [null, 2, null],
    )
    const events = await ok(app.get('/events?type=cart.updated'))
    assert.deepEqual(events.body.data[0].data.object.lines, read.body.lines)
    // A reference without an effect restricts.
    await app.patch(`/api/v2/carts/${cart.id}`, { gift: { maker_id: 2 } })
    assert.equal((await app.delete('/api/v2/makers/2')).status, 409)
  },
  options,
)

eachService(
  'references of deleted rows are cleared, restrict and are purged first',
  async (app) => {
    const [desk] = await fillShop(app)
    const { id: ash } = await created(app, 'makers', { name: 'Ash' })
    const { id: fir } = await created(app, 'makers', { name: 'Fir' })
    const lines = [{ product_id: desk, maker_id: ash }]
    const cart = await created(app, 'carts', { lines, gift: { maker_id: fir } })
    assert.equal((await app.delete(`/api/v2/carts/${cart.id}`)).status, 204)
    assert.equal((await app.delete(`/api/v2/makers/${ash}`)).status, 204)
    const restricted = await app.delete(`/api/v2/makers/${fir}`)
    assert.match(restricted.body.message, /Deleted rows of carts still refer/)
    const restored = await app.post(`/api/v2/carts/${cart.id}/restore`)
    assert.equal(restored.body.lines[0].maker_id, null, restored.text)
    for (const path of [`carts/${cart.id}`, `products/${desk}`]) {
      assert.equal((await app.delete(`/api/v2/${path}`)).status, 204)
    }
    const clock = { now: () => Date.now() + 2 * 86_400_000, elapsedMs: () => 0 }
    assert.equal(await createRowPurge(shop.definition, { db: app.app.db, clock })(), 2)
    assert.equal((await app.delete(`/api/v2/makers/${fir}`)).status, 204)
  },
  options,
)

eachDatabase('a start finds the references of existing rows', async (db) => {
  const declare = (items: object) =>
    service({
      name: 'Shelf',
      versions: { v1: { released: '2026-01-01' } },
      resources: [
        makers,
        resource('shelves', {
          fields: { id: f.id(), items: f.array(items as never, { max: 9 }) },
          list,
          access: access('shelves'),
          events: [],
        }),
      ],
    }).definition
  await migrateEngine(db, { clock: wallClock })
  const start = (items: object) => migrateService(db, declare(items), () => {})
  await start(f.int())
  const insert = "INSERT INTO shelves (scope, items) VALUES (2, '[7,9,7]')"
  await db.write((tx) => tx.run({ sql: insert, text: insert, values: [] }))
  await start(f.ref('makers'))
  const read = 'SELECT word FROM gh_words_shelves ORDER BY word'
  const words = await db.arrays({ sql: read, text: read, values: [] })
  assert.deepEqual(words.flat(), ['=items=7', '=items=9'])
})

eachService(
  'expand adds rows inside values, with their relations, in each version',
  async (app) => {
    const [desk, lamp] = await fillShop(app)
    const lines = [{ product_id: lamp, maker_id: 1 }, { product_id: desk }]
    const body = { lines, liked: [desk, lamp, desk], gift: { maker_id: 2 } }
    await created(app, 'carts', body)
    await created(app, 'carts', {})
    const [oak, elm] = [1, 2].map((id) => ({ id, name: id === 1 ? 'Oak' : 'Elm' }))
    const deskRow = { id: desk, name: 'Desk', maker_id: 1, deleted_at: null }
    const lampRow = { id: lamp, name: 'Lamp', maker_id: 2, deleted_at: null }
    const rest = { maker: '', count: 1 }
    const expand = 'lines.product.maker,lines.maker_id,liked,gift.maker'
    const page = await ok(app.get(`/api/v2/carts?expand=${expand}`))
    const [full, empty] = page.body.data
    assert.deepEqual(full.lines, [
      { product_id: lamp, ...rest, maker_id: oak, product: { ...lampRow, maker: elm } },
      { product_id: desk, ...rest, maker_id: null, product: { ...deskRow, maker: oak } },
    ])
    assert.deepEqual(full.liked, [deskRow, lampRow, deskRow])
    assert.deepEqual(full.gift, { maker_id: 2, maker: elm })
    assert.deepEqual([empty.lines, empty.gift], [[], null])
    const single = await ok(app.get('/api/v2/carts/1?expand=gift.maker'))
    assert.deepEqual(single.body.gift, { maker_id: 2, maker: elm })
    assert.deepEqual(single.body.liked, [desk, lamp, desk])
    const old = await ok(app.get('/api/v1/carts?expand=rows.product&limit=1'))
    const { name: title, ...oldRow } = deskRow
    assert.deepEqual(old.body.data[0].rows[1].product, { ...oldRow, title })
    for (const path of [
      'rows.product',
      'lines',
      'lines.product_id',
      'lines.product.maker.x',
      'gift.',
    ]) {
      await refused(app.get(`/api/v2/carts?expand=${path}`), 'invalid_parameter', 'expand')
    }
  },
  options,
)

eachService(
  'expand respects the rights of the field and of the rows',
  async (app) => {
    const [desk] = await fillShop(app)
    await created(app, 'carts', { lines: [{ product_id: desk }], secret: [1] })
    const blind = app.as(await app.key({ scopes: ['carts:read'] }))
    assert.equal((await blind.get('/api/v2/carts?expand=lines.product')).status, 403)
    const reader = app.as(await app.key({ scopes: ['carts:read', 'makers:read'] }))
    await refused(reader.get('/api/v2/carts?expand=secret'), 'invalid_parameter', 'expand')
    const all = await ok(app.get('/api/v2/carts?expand=secret'))
    assert.deepEqual(all.body.data[0].secret, [{ id: 1, name: 'Oak' }])
  },
  options,
)

eachService(
  'OpenAPI has the parameter and the members, and a deletion beside a creation leaves no gap',
  async (app) => {
    const [desk] = await fillShop(app)
    const { paths, components } = (await app.get('/openapi/v2.json')).body
    const expand = paths['/api/v2/carts'].get.parameters.find(
      ({ name }: { name: string }) => name === 'expand',
    )
    for (const path of ['lines.product', 'lines.product.maker', 'liked', 'gift.maker']) {
      assert.ok(expand.schema.items.enum.includes(path), path)
    }
    const { lines, liked } = components.schemas.Cart.properties
    assert.equal(lines.items.properties.product.oneOf[1].$ref, '#/components/schemas/Product')
    assert.equal(liked.items.oneOf[1].$ref, '#/components/schemas/Product')
    assert.ok(!components.schemas.CartCreate.properties.lines.items.properties.product)
    const replies = await Promise.all([
      ...Array.from({ length: 6 }, () => app.post('/api/v2/carts', { liked: [desk] })),
      app.delete(`/api/v2/products/${desk}`),
    ])
    const removed = replies.at(-1)!.status
    const rows = (await ok(app.get('/api/v2/carts'))).body.data.length
    assert.ok(removed === 409 ? rows > 0 : removed === 204 && rows === 0, `${removed}, ${rows}`)
  },
  options,
)

/** Returns the sentence of the mistakes of a declaration. */
function mistakesOf(value: object): string {
  try {
    const things = resource('things', {
      fields: { id: f.id(), value: value as never },
      list,
      access: access('things'),
      events: [],
    })
    service({
      name: 's',
      versions: { v1: { released: '2026-01-01' } },
      resources: [things, makers],
    })
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('mistakes of references inside values are named at start', () => {
  const items = f.array(f.ref('makers'), { max: 9 })
  assert.equal(mistakesOf(items), '')
  for (const [value, sentence] of [
    [f.object({ at: f.ref('nothing') }), /value.at: there is no resource nothing/],
    [f.object({ at: f.ref('makers', 'mk') }), /value.at: the ids of makers are integers/],
    [f.object({ at: f.ref('makers').onDelete('cascade') }), /restrict or setNull/],
    [f.object({ at: f.ref('makers').onDelete('setNull') }), /needs .nullable/],
    [f.object({ at: f.ref('makers').unique() }), /a value inside another/],
    [
      f.array(f.ref('makers').nullable().onDelete('setNull'), { max: 2 }),
      /clears a member of an object, not an item/,
    ],
    [
      f.array(f.object({ in: f.array(f.ref('makers'), { max: 100 }) }), { max: 11 }),
      /value.in has up to 1100 references; a field has at most 1000/,
    ],
    [f.computed(items), /a reference is not computed/],
  ] as const) {
    assert.match(mistakesOf(value), sentence)
  }
})

test('types know the ids inside values', () => {
  const types = async (tx: ServiceTx) => {
    const { lines, liked } = await tx.get(carts, 1)
    const ids: readonly string[] = [...lines.map(({ product_id }) => product_id), ...liked]
    return ids
  }
  assert.equal(typeof types, 'function')
})
