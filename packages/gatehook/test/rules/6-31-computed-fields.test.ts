/** §6.31: own code computes a field from the others; a stored one sorts and filters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 'l:read', create: 'l:write', update: 'l:write', delete: false } as const

const lines = resource('lines', {
  fields: {
    id: f.id(),
    price: f.int().min(0),
    count: f.int().min(1).default(1),
    total: f.computed(f.int().min(0).max(1_000)).stored(),
    label: f.computed(f.string()),
    due: f.computed(f.time().nullable()),
    created_at: f.createdAt(),
  },
  list: { filter: ['total'], sort: ['total', 'price'] },
  access,
  events: ['line.created', 'line.updated'],
})
  .compute('total', (row) => row.price * row.count)
  .compute('label', (row) => `${row.count} for ${row.total}`)
  .compute('due', (row) => (row.total > 100 ? row.created_at : null))
  .action('double', { scope: 'l:write', run: ({ row }) => ({ count: row.count * 2 }) })
  .sample((n) => ({ price: 10 + (n % 5) }))
  .before('v2', {
    why: 'The total is in units.',
    had: { cents: f.int() },
    hadNot: ['total'],
    up: (old) => ({ total: old.cents / 100 }),
    down: (row) => ({ cents: row.total * 100 }),
  })

const TILL = {
  service: service({
    name: 'till',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [lines],
  }),
}
const path = '/api/v2/lines'

eachService(
  'a computed value is in responses, lists, events and old versions, and follows each change',
  async ({ get, post, patch }) => {
    const created = await post(path, { price: 5, count: 3 })
    assert.equal(created.status, 201, created.text)
    const row = { total: 15, label: '3 for 15', due: null }
    assert.deepEqual({ ...created.body, ...row }, created.body)
    assert.deepEqual((await get(`${path}/1`)).body, created.body)
    assert.deepEqual((await get(path)).body.data, [created.body])
    assert.deepEqual((await get(`${path}?fields=label`)).body.data, [{ label: '3 for 15' }])
    const patched = await patch(`${path}/1`, { price: 6 })
    assert.deepEqual([patched.body.total, patched.body.label], [18, '3 for 18'])
    const doubled = await post(`${path}/1/double`)
    assert.deepEqual([doubled.body.total, doubled.body.label], [36, '6 for 36'])
    const old = (await get('/api/v1/lines/1')).body
    assert.deepEqual([old.cents, old.label], [3600, '6 for 36'])
    assert.deepEqual((await get('/api/v1/lines')).body.data, [old])
    const oldPatch = await patch('/api/v1/lines/1', { price: 7 })
    assert.deepEqual([oldPatch.status, oldPatch.body.cents], [200, 4200])
    const large = await patch(`${path}/1`, { price: 20 })
    assert.deepEqual([large.body.total, large.body.due], [120, large.body.created_at])
    const events = (await get('/events')).body.data
    const labels = events.map((event: { data: { object: { label: string } } }) => {
      return event.data.object.label
    })
    assert.deepEqual(labels.sort(), ['3 for 15', '3 for 18', '6 for 120', '6 for 42'].sort())
  },
  TILL,
)

eachService(
  'a stored value sorts and filters; clients write none',
  async ({ app, get, post, patch }) => {
    for (const price of [3, 1, 2]) await post(path, { price, count: 2 })
    const ids = async (query: string) =>
      (await get(`${path}?${query}`)).body.data.map((row: { id: number }) => row.id)
    assert.deepEqual(await ids('sort=-total'), [1, 3, 2])
    assert.deepEqual(await ids('total[gte]=4&sort=total'), [3, 1])
    assert.deepEqual(await ids('sort=price'), [2, 3, 1])
    const { body } = await get(`${path}?sort=total&limit=1`)
    assert.deepEqual(await ids(`sort=total&limit=1&cursor=${body.next_cursor}`), [3])
    for (const [name, value] of [
      ['total', 6],
      ['label', 'x'],
    ]) {
      for (const reply of [
        await post(path, { price: 1, [name!]: value }),
        await patch(`${path}/1`, { [name!]: value }),
      ]) {
        const [error] = reply.body.errors
        assert.deepEqual([reply.status, error.pointer, error.code], [422, `/${name}`, 'read_only'])
      }
    }
    const { schemas } = JSON.parse((await app.inject('/openapi/v2.json')).body).components
    assert.equal(schemas.Line.properties.label.readOnly, true)
    assert.equal(schemas.LineCreate.properties.total, undefined)
  },
  TILL,
)

eachService(
  'a computed value that its field rejects is 500, and no row changes',
  async ({ get, post, patch }) => {
    assert.equal((await post(path, { price: 600, count: 2 })).status, 500)
    assert.deepEqual((await get(path)).body.data, [])
    await post(path, { price: 600 })
    assert.equal((await patch(`${path}/1`, { count: 2 })).status, 500)
    assert.equal((await get(`${path}/1`)).body.total, 600)
  },
  TILL,
)

eachMigrated('a table has the columns of stored values only, fresh or upgraded', async (db) => {
  const declare = (more: object) =>
    service({
      name: 'till',
      versions: { v1: { released: '2025-01-01' } },
      resources: [
        resource('lines', {
          fields: { id: f.id(), price: f.int(), ...(more as { total: typeof total }) },
          list: { filter: [], sort: [] },
          access,
          events: [],
        }).compute('total', () => 1),
      ],
    })
  const total = f.computed(f.int().default(0))
  const names = async () => (await db.columns('lines')).map(({ name }) => name)
  await migrateService(db, declare({ total }).definition)
  assert.deepEqual(await names(), ['scope', 'id', 'price'])
  await migrateService(db, declare({ total: total.stored() }).definition)
  assert.deepEqual(await names(), ['scope', 'id', 'price', 'total'])
})

test('computed fields that contradict themselves are not declared', () => {
  const declare = (field: object, list: readonly string[] = [], isComputed = true) => {
    const things = resource('things', {
      fields: { id: f.id(), it: field as ReturnType<typeof f.computed<number>> },
      list: { filter: [], sort: list as ['it'] },
      access,
      events: [],
    })
    const resources = [isComputed ? things.compute('it', () => 1) : things]
    service({ name: 'things', versions: { v1: { released: '2025-01-01' } }, resources })
  }
  declare(f.computed(f.int()).stored(), ['it'])
  const mistakes: [RegExp, Parameters<typeof declare>][] = [
    [/it is computed, and \.compute\('it', …\) is missing/, [f.computed(f.int()), [], false]],
    [/it is no column: add \.stored\(\)/, [f.computed(f.int()), ['it']]],
    [/it is not an f\.computed/, [f.int().default(1).readonly()]],
    [/\.stored\(\) goes with f\.computed/, [f.int().stored()]],
    [/a reference is not computed/, [f.computed(f.ref('things'))]],
    [/compute\('it'\): must be a string/, [f.computed(f.string())]],
    [/has no order/, [f.computed(f.json()).stored(), ['it']]],
  ]
  for (const [sentence, args] of mistakes) assert.throws(() => declare(...args), sentence)
})
