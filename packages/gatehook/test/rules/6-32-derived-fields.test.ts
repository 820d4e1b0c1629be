/** §6.32: the database derives a field from the columns of its row; a listed one sorts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachDatabase, eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { planStatements } from '../../src/declare/resources/migration-plan.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'p:read', create: 'p:write', update: 'p:write', delete: 'p:write' } as const

const parcels = resource('parcels', {
  fields: {
    id: f.id(),
    name: f.string().max(20),
    width: f.int(),
    height: f.int().default(1),
    price: f.decimal(8, 2).default('1.00'),
    area: f.derived(f.int(), 'width * height'),
    label: f.derived(f.string().max(12), "name || ' of ' || width"),
    is_flat: f.derived(f.bool(), 'height < 10'),
    ratio: f.derived(f.int().nullable(), 'width / nullif(height, 0)'),
    double: f.derived(f.decimal(9, 2), { sqlite: 'price * 2', postgres: '2 * price' }),
    secret_area: f.derived(f.int(), '-width').visible('p:secret'),
    area_text: f.computed(f.string().nullable()),
  },
  list: {
    filter: ['area', 'is_flat', 'label', 'secret_area'],
    sort: ['area', 'ratio', ['is_flat', 'area']],
  },
  access,
  softDelete: true,
  events: ['parcel.created', 'parcel.updated', 'parcel.deleted', 'parcel.restored'],
  batch: true,
  export: true,
})
  .compute('area_text', ({ area }) => (area === null ? null : `${area} mm²`))
  .action('flatten', { scope: 'p:write', run: () => ({ height: 2 }) })
  .before('v2', {
    why: 'An area has a unit.',
    had: { size: f.string().readonly() },
    hadNot: ['area'],
    up: ({ size }) => ({ area: Number(size.split(' ')[0]) }),
    down: ({ area }) => ({ size: `${area} mm` }),
  })

const POST_OFFICE = {
  service: service({
    name: 'post office',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [parcels],
  }),
}
const path = '/api/v2/parcels'

eachService(
  'a derived value is in responses, lists, events, exports and old versions, and follows changes',
  async ({ get, post, patch }) => {
    const created = await post(path, { name: 'box', width: 30, height: 20, price: '2.50' })
    assert.equal(created.status, 201, created.text)
    const values = {
      area: 600,
      label: 'box of 30',
      is_flat: false,
      ratio: 1,
      double: '5.00',
      area_text: '600 mm²',
    }
    assert.deepEqual({ ...created.body, ...values }, created.body)
    assert.equal(created.body.secret_area, -30, 'the test key has every scope')
    assert.deepEqual((await get(`${path}/1`)).body, created.body)
    assert.deepEqual((await get(path)).body.data, [created.body])
    assert.deepEqual((await get(`${path}?fields=area`)).body.data, [{ area: 600 }])
    const patched = (await patch(`${path}/1`, { height: 0 })).body
    assert.deepEqual([patched.area, patched.is_flat, patched.ratio], [0, true, null])
    const flat = (await post(`${path}/1/flatten`)).body
    assert.deepEqual([flat.area, flat.area_text, flat.ratio], [60, '60 mm²', 15])
    assert.equal((await get('/api/v1/parcels/1')).body.size, '60 mm')
    const oldPatch = await patch('/api/v1/parcels/1', { width: 5 })
    assert.deepEqual([oldPatch.status, oldPatch.body.size], [200, '10 mm'])
    const batch = await post(`${path}/batch`, { items: [{ name: 'a', width: 2 }] })
    assert.equal(batch.body.items[0].body.area, 2)
    const { text } = await get(path, { accept: 'application/x-ndjson' })
    const lines = text.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).area),
      [10, 2],
    )
    const { data } = (await get('/events?type=parcel.updated')).body
    const areas = data.map((event: { data: { object: { area: number } } }) => {
      return event.data.object.area
    })
    assert.deepEqual(areas.sort(), [0, 10])
    assert.equal('secret_area' in data[0].data.object, false)
  },
  POST_OFFICE,
)

eachService(
  'a derived value filters and sorts in every direction, and clients write none',
  async ({ app, get, post, patch }) => {
    for (const [width, height] of [
      [3, 20],
      [1, 20],
      [2, 2],
      [7, 0],
    ]) {
      await post(path, { name: 'n', width, height })
    }
    const ids = async (query: string) =>
      (await get(`${path}?${query}`)).body.data.map((row: { id: number }) => row.id)
    assert.deepEqual(await ids('sort=area'), [4, 3, 2, 1])
    assert.deepEqual(await ids('sort=-area&area[gte]=4'), [1, 2, 3])
    assert.deepEqual(await ids('is_flat=true&sort=area'), [4, 3])
    assert.deepEqual(await ids('label=n of 3'), [1])
    assert.deepEqual(await ids('sort=-ratio'), [4, 3, 2, 1])
    assert.deepEqual(await ids('secret_area=-3'), [1])
    const walk: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { data: { id: number }[]; next_cursor: string | null } = (
        await get(`${path}?sort=ratio&limit=1${cursor && `&cursor=${cursor}`}`)
      ).body
      walk.push(page.data[0]!.id)
      cursor = page.next_cursor
    }
    assert.deepEqual(walk, [1, 2, 3, 4])
    for (const reply of [
      await post(path, { name: 'n', width: 1, area: 1 }),
      await patch(`${path}/1`, { area: 2 }),
    ]) {
      const [error] = reply.body.errors
      assert.deepEqual([reply.status, error.pointer, error.code], [422, '/area', 'read_only'])
    }
    const { schemas } = JSON.parse((await app.inject('/openapi/v2.json')).body).components
    assert.equal(schemas.Parcel.properties.area.readOnly, true)
    assert.equal(schemas.ParcelCreate.properties.area, undefined)
  },
  POST_OFFICE,
)

eachService(
  'a deleted and a restored row have their derived values',
  async (app) => {
    await app.post(path, { name: 'n', width: 4, height: 2 })
    assert.equal((await app.delete(`${path}/1`)).status, 204)
    assert.equal((await app.get(`${path}?deleted=true`)).body.data[0].area, 8)
    assert.equal((await app.post(`${path}/1/restore`)).body.area, 8)
  },
  POST_OFFICE,
)

const loads = resource('loads', {
  fields: {
    id: f.id(),
    weight: f.int(),
    count: f.int(),
    note: f.string().default('{}'),
    total: f.derived(f.int(), 'weight * count'),
    share: f.derived(f.int(), 'weight / count'),
    code: f.derived(f.string().nullable(), {
      sqlite: 'json(note)',
      postgres: 'note::json::text',
    }),
  },
  list: { filter: [], sort: ['share'] },
  access,
  events: ['load.created', 'load.updated'],
  batch: true,
})

eachService(
  'a write whose derived value cannot be computed is rejected with the fields that it reads',
  async ({ get, post, patch }) => {
    const url = '/api/v1/loads'
    assert.equal((await post(url, { weight: 6, count: 3 })).status, 201)
    const max = Number.MAX_SAFE_INTEGER
    for (const [weight, count] of [
      [max, max],
      [max, 2],
      [-max, 2],
      [1, 0],
    ] as const) {
      for (const reply of [
        await post(url, { weight, count }),
        await patch(`${url}/1`, { weight, count }),
      ]) {
        const source = `${weight} and ${count}: ${reply.text}`
        assert.equal(reply.status, 422, source)
        const pointers = reply.body.errors.map(({ pointer }: { pointer: string }) => pointer)
        for (const name of ['/weight', '/count']) assert.ok(pointers.includes(name), source)
      }
    }
    assert.equal((await post(url, { weight: 1, count: 1, note: '{' })).status, 422)
    const items = [
      { weight: max, count: 2 },
      { weight: 8, count: 2 },
    ]
    const batch = await post(`${url}/batch`, { atomic: false, items })
    assert.deepEqual(
      batch.body.items.map(({ status }: { status: number }) => status),
      [422, 201],
    )
    const { data } = (await get(`${url}?sort=share`)).body
    assert.deepEqual(
      data.map((load: { total: number; share: number }) => [load.total, load.share]),
      [
        [18, 2],
        [16, 4],
      ],
    )
  },
  {
    service: service({
      name: 'depot',
      versions: { v1: { released: '2025-01-01' } },
      resources: [loads],
    }),
  },
)

const declare = (field: unknown, list: readonly string[] = [], more: object = {}) =>
  service({
    name: 'things',
    versions: { v1: { released: '2025-01-01' } },
    resources: [
      resource('things', {
        fields: { id: f.id(), size: f.int(), it: field as ReturnType<typeof f.derived<number>> },
        list: { filter: [], sort: list as ['it'] },
        access,
        events: [],
        ...more,
      }),
    ],
  }).definition

eachDatabase('the start names file and line of an expression that is not valid', async (db) => {
  const mistakes = ['(SELECT 1)', 'sum(size)', 'random()', 'size +']
  for (const text of mistakes) {
    const definition = declare(f.derived(f.int(), text))
    await assert.rejects(
      migrateService(db, definition),
      /6-32-derived-fields\.test\.ts:\d+: resource things: field it: \w+ rejects the expression/,
      text,
    )
    assert.deepEqual(await db.columns('things'), [], 'no table is created')
  }
})

eachDatabase('one start names all expressions that are not valid', async (db) => {
  const definition = resource('things', {
    fields: {
      id: f.id(),
      size: f.int(),
      total: f.derived(f.int(), 'sum(size)'),
      twice: f.derived(f.int(), 'size * 2'),
      dice: f.derived(f.int(), 'random()'),
    },
    list: { filter: [], sort: [] },
    access,
    events: [],
  })
  const versions = { v1: { released: '2025-01-01' } }
  const things = service({ name: 'things', versions, resources: [definition] }).definition
  for (const check of [migrateService, planStatements]) {
    await assert.rejects(
      check(db, things),
      /^[^\n]* field total: [^\n]*\n[^\n]* field dice: [^\n]*$/,
    )
  }
})

test('a name that is no column is a mistake of the declaration', () => {
  const cases: readonly [text: string, mistake: string][] = [
    ['siz * 2', 'there is no column siz; did you mean size?'],
    ['it + 1', 'the field it is no column'],
    ['scope', 'there is no column scope'],
  ]
  for (const [text, mistake] of cases) {
    assert.throws(() => declare(f.derived(f.int(), text)), {
      message: `resource things: field it: f.derived(): ${mistake}`,
    })
  }
  assert.throws(() => declare(f.derived(f.int(), 'weight + height')), /weight.*\n.*height/)
  const words = [
    "extract(year from timestamp '2020-01-01')",
    'size::text',
    'least(size, 1)',
    'SIZE',
  ]
  for (const text of words) declare(f.derived(f.int(), text))
})

eachMigrated('a changed expression has another index, and no column', async (db) => {
  const indexes = async () => (await db.indexes('things')).filter((name) => name.includes('_it_'))
  await migrateService(db, declare(f.derived(f.int(), 'size + 1'), ['it']))
  const before = await indexes()
  assert.deepEqual(
    (await db.columns('things')).map(({ name }) => name),
    ['scope', 'id', 'size'],
  )
  await migrateService(db, declare(f.derived(f.int(), 'size + 2'), ['it']))
  const after = await indexes()
  assert.deepEqual([before.length, after.length], [1, 1])
  assert.notDeepEqual(after, before)
})

test('derived fields that contradict themselves are not declared', () => {
  const mistakes: [RegExp, Parameters<typeof declare>][] = [
    [/needs SQL of 1 to 1000 characters/, [f.derived(f.int(), ' ')]],
    [/needs SQL of 1 to 1000 characters/, [f.derived(f.int(), 'a'.repeat(1_001))]],
    [/without \? \$ ; " @ and comments/, [f.derived(f.int(), 'size; DROP TABLE things')]],
    [/without \? \$ ; " @ and comments/, [f.derived(f.int(), 'size -- 1')]],
    [/remove \.stored\(\)/, [f.derived(f.int(), 'size').stored()]],
    [/has no email/, [f.derived(f.email(), 'size')]],
    [/is not unique and has no default/, [f.derived(f.int().unique(), 'size')]],
    [/a reference is not computed/, [f.derived(f.ref('things'), 'size')]],
    [/is computed when a row is read/, [f.derived(f.string(), 'size'), [], { search: ['it'] }]],
  ]
  for (const [sentence, args] of mistakes) assert.throws(() => declare(...args), sentence)
})
