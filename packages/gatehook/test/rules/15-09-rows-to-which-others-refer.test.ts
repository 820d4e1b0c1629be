/** §6.22, §15.9: which rows a deletion and a purge pass because others refer to theirs. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { createRowPurge } from '../../src/declare/resources/purge.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const declared = (name: string) =>
  ({
    list: { filter: [], sort: ['id'] },
    access: {
      read: `${name}:read`,
      create: `${name}:write`,
      update: `${name}:write`,
      delete: `${name}:write`,
    },
    softDelete: { scope: `${name}:deleted`, purgeAfterDays: 1 },
    events: [],
  }) as const
const products = resource('products', {
  fields: { id: f.id('prod'), name: f.string().max(40) },
  ...declared('products'),
})
const carts = resource('carts', {
  fields: {
    id: f.id(),
    lines: f.array(f.object({ product_id: f.ref('products', 'prod') }), { max: 9 }).default([]),
    liked: f.array(f.ref('products', 'prod'), { max: 9 }).default([]),
    note: f.string().max(90).default(''),
  },
  search: ['note'],
  ...declared('carts'),
})
const nodes = resource('nodes', {
  fields: {
    id: f.id(),
    parent_id: f.ref('nodes').nullable().default(null),
    links: f.array(f.ref('nodes'), { max: 9 }).default([]),
  },
  ...declared('nodes'),
})
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [carts, products, nodes],
})
const options = { service: shop }

const created = async (app: Pick<TestApp, 'post'>, name: string, body: object) => {
  const reply = await app.post(`/api/v1/${name}`, body)
  assert.equal(reply.status, 201, reply.text)
  return reply.body.id
}

eachService(
  'words of references have the state of their row, so that a deletion passes no deleted rows',
  async (app) => {
    const desk = await created(app, 'products', { name: 'Desk' })
    const marksOf = async () => {
      const rows = await app.app.db.arrays(sql`SELECT item.deleted_at, words.word
        FROM carts AS item JOIN gh_words_carts AS words
        ON words.scope = item.scope AND words.id = item.id`)
      return rows.map(([deletedAt, word]) => [deletedAt !== null, (word as string)[0]])
    }
    const body = { lines: [{ product_id: desk }], liked: [desk], note: 'tea' }
    const ids = [await created(app, 'carts', body), await created(app, 'carts', body)]
    const at = `/api/v1/carts/${ids[0]}`
    assert.equal((await app.delete(at)).status, 204)
    const marks = await marksOf()
    assert.equal(marks.length, 6)
    const expected = new Set(['true ~', 'false =', 'true -', 'false t'])
    assert.deepEqual(new Set(marks.map(String).map((mark) => mark.replace(',', ' '))), expected)
    assert.equal((await app.delete(`/api/v1/products/${desk}`)).status, 409)
    assert.equal((await app.delete(`/api/v1/carts/${ids[1]}`)).status, 204)
    assert.ok((await marksOf()).every(([, mark]) => mark !== '='))
    assert.equal((await app.delete(`/api/v1/products/${desk}?dry_run=true`)).status, 200)
    assert.equal((await app.post(`${at}/restore`, {})).status, 200)
    assert.equal((await app.patch(at, { liked: [] })).status, 200)
    assert.equal((await app.delete(`/api/v1/products/${desk}`)).status, 409)
  },
  options,
)

eachService(
  'a row that refers to itself is purged; one to which another refers stays until the other goes',
  async (app) => {
    const own = await created(app, 'nodes', {})
    const listed = await created(app, 'nodes', {})
    const parent = await created(app, 'nodes', {})
    const child = await created(app, 'nodes', { parent_id: parent })
    assert.equal((await app.patch(`/api/v1/nodes/${own}`, { parent_id: own })).status, 200)
    assert.equal((await app.patch(`/api/v1/nodes/${listed}`, { links: [listed] })).status, 200)
    for (const id of [own, listed, child, parent]) {
      assert.equal((await app.delete(`/api/v1/nodes/${id}`)).status, 204, `${id}`)
    }
    const clock = { ...wallClock, now: () => wallClock.now() + 2 * 86_400_000 }
    const purge = createRowPurge(shop.definition, { db: app.app.db, clock })
    assert.equal(await purge(), 3)
    const left = await app.app.db.arrays(sql`SELECT id FROM nodes`)
    assert.deepEqual(
      left.map(([id]) => Number(id)),
      [parent],
    )
    assert.equal(await purge(), 1)
    assert.deepEqual(await app.app.db.arrays(sql`SELECT word FROM gh_words_nodes`), [])
  },
  options,
)
