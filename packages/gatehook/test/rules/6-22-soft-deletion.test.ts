/** §6.22: a deleted row is hidden, can be restored, and is purged after a declared time. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { createRowPurge } from '../../src/declare/resources/purge.ts'
import { DeclarationError, f, resource, type Service, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const sqlite = databases.find(({ name }) => name === 'sqlite')!
const all = (name: string) => ({
  read: `${name}:read`,
  create: `${name}:write`,
  update: `${name}:write`,
  delete: `${name}:write`,
})
const shelves = resource('shelves', {
  fields: { id: f.id(), name: f.string().max(20).unique() },
  list: { filter: ['name'], sort: ['name'] },
  access: all('shelves'),
  events: ['shelf.created', 'shelf.updated', 'shelf.deleted', 'shelf.restored'],
  softDelete: { scope: 'shelves:restore', purgeAfterDays: 2 },
  export: true,
})
const books = resource('books', {
  fields: { id: f.id(), shelf_id: f.ref('shelves').onDelete('cascade'), title: f.string() },
  list: { filter: ['title'], sort: [] },
  access: all('books'),
  events: ['book.deleted', 'book.restored'],
  softDelete: true,
})
const notes = resource('notes', {
  fields: { id: f.id(), book_id: f.ref('books') },
  list: { filter: [], sort: [] },
  access: all('notes'),
  events: [],
})
const versions = { v1: { released: '2026-01-01' } }
const library = {
  service: service({ name: 'library', versions, resources: [shelves, books, notes] }),
}

const idsOf = async ({ get }: TestApp, path: string) =>
  (await get(path)).body.data.map(({ id }: { id: number }) => id)
const totalOf = async ({ get }: TestApp, path: string) =>
  (await get(`${path}?pagination=page`)).body.total
const typesOf = async ({ get }: TestApp) =>
  (await get('/events')).body.data.map(({ type }: { type: string }) => type)

eachService(
  'a deleted row is 404 and absent from lists and totals until it is restored',
  async (app) => {
    const { get, post, patch } = app
    const { body: row } = await post('/api/v1/shelves', { name: 'a' })
    await post('/api/v1/shelves', { name: 'b' })
    assert.equal(row.deleted_at, null)
    const path = `/api/v1/shelves/${row.id}`
    assert.equal((await app.delete(path)).status, 204)
    for (const reply of [
      await get(path),
      await patch(path, { name: 'c' }),
      await app.delete(path),
    ]) {
      assert.deepEqual([reply.status, reply.body.error], [404, 'not_found'])
    }
    assert.deepEqual(await idsOf(app, '/api/v1/shelves?name=a'), [])
    assert.equal(await totalOf(app, '/api/v1/shelves'), 1)
    const deleted = await get('/api/v1/shelves?deleted=true')
    assert.deepEqual(
      deleted.body.data.map(({ id, name }: typeof row) => [id, name]),
      [[row.id, 'a']],
    )
    assert.equal(typeof deleted.body.data[0].deleted_at, 'string')
    assert.deepEqual(await idsOf(app, '/api/v1/shelves?deleted=true&name=b'), [])
    for (const accept of ['text/csv', 'application/x-ndjson']) {
      const exported = async (query: string) => {
        const { status, text } = await get(`/api/v1/shelves?fields=name&${query}`, { accept })
        assert.equal(status, 200, text)
        return text.match(/\b[ab]\b/g)
      }
      assert.deepEqual(await exported('deleted=true'), ['a'], accept)
      assert.deepEqual(await exported('deleted=false'), ['b'], accept)
      const refused = await get('/api/v1/shelves?deleted=maybe', { accept })
      assert.equal(refused.body.error, 'invalid_parameter')
    }
    const restored = await post(`${path}/restore`)
    assert.deepEqual([restored.status, restored.body], [200, row])
    assert.deepEqual((await get(path)).body, row)
    assert.equal(await totalOf(app, '/api/v1/shelves'), 2)
    assert.deepEqual(await typesOf(app), [
      'shelf.created',
      'shelf.created',
      'shelf.deleted',
      'shelf.restored',
    ])
    const again = await post(`${path}/restore`)
    assert.deepEqual([again.status, again.body.error], [409, 'invalid_state'])
    assert.equal((await post('/api/v1/shelves/999/restore')).status, 404)
  },
  library,
)

eachService(
  'deleted rows need the scope that restores them',
  async (app) => {
    const { body: row } = await app.post('/api/v1/shelves', { name: 'a' })
    await app.delete(`/api/v1/shelves/${row.id}`)
    const writer = app.as(await app.key({ scopes: ['shelves:read', 'shelves:write'] }))
    for (const reply of [
      await writer.get('/api/v1/shelves?deleted=true'),
      await writer.post(`/api/v1/shelves/${row.id}/restore`),
    ]) {
      assert.deepEqual([reply.status, reply.body.error], [403, 'insufficient_scope'])
    }
    assert.deepEqual((await writer.get('/api/v1/shelves?deleted=false')).body.data, [])
    const odd = await app.get('/api/v1/shelves?deleted=1')
    assert.deepEqual([odd.status, odd.body.error], [400, 'invalid_parameter'])
    const live = app.as(await app.key({ mode: 'live' }))
    assert.deepEqual((await live.get('/api/v1/shelves?deleted=true')).body.data, [])
    assert.equal((await live.post(`/api/v1/shelves/${row.id}/restore`)).status, 404)
  },
  library,
)

eachService(
  'a unique value stays taken until the purge, so that a restore always finds it free',
  async ({ post, delete: remove }) => {
    const { body: row } = await post('/api/v1/shelves', { name: 'a' })
    await remove(`/api/v1/shelves/${row.id}`)
    const taken = await post('/api/v1/shelves', { name: 'a' })
    assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
  },
  library,
)

eachService(
  'to other rows a soft deletion is a deletion',
  async (app) => {
    const { post, get } = app
    const { body: shelf } = await post('/api/v1/shelves', { name: 'a' })
    const { body: book } = await post('/api/v1/books', { shelf_id: shelf.id, title: 't' })
    const { body: note } = await post('/api/v1/notes', { book_id: book.id })
    const path = `/api/v1/shelves/${shelf.id}`
    assert.equal((await app.delete(path)).body.error, 'conflict')
    assert.equal((await get(`/api/v1/books/${book.id}`)).status, 200)
    await app.delete(`/api/v1/notes/${note.id}`)
    assert.equal((await app.delete(path)).status, 204)
    assert.equal((await get(`/api/v1/books/${book.id}`)).status, 404)
    const refused = await post('/api/v1/books', { shelf_id: shelf.id, title: 'u' })
    assert.deepEqual([refused.status, refused.body.errors[0].pointer], [422, '/shelf_id'])
    const orphan = await post(`/api/v1/books/${book.id}/restore`)
    assert.deepEqual([orphan.status, orphan.body.errors[0].pointer], [422, '/shelf_id'])
    await post(`${path}/restore`)
    assert.equal((await post(`/api/v1/books/${book.id}/restore`)).status, 200)
    const types = (await typesOf(app)).filter((type: string) => !/created/.test(type))
    assert.deepEqual(types.sort(), [
      'book.deleted',
      'book.restored',
      'shelf.deleted',
      'shelf.restored',
    ])
  },
  library,
)

eachService(
  'the purge deletes rows after the declared time, and referring rows first',
  async (app) => {
    const { post } = app
    const { body: shelf } = await post('/api/v1/shelves', { name: 'a' })
    const { body: live } = await post('/api/v1/shelves', { name: 'b' })
    await post('/api/v1/books', { shelf_id: shelf.id, title: 't' })
    await app.delete(`/api/v1/shelves/${shelf.id}`)
    const { db } = app.app
    const purgeAfter = (days: number) => {
      const now = Date.now() + days * 86_400_000
      const clock = { now: () => now, elapsedMs: () => 0 }
      return createRowPurge(library.service.definition, { db, clock })()
    }
    const countOf = async (table: 'shelves' | 'books') => {
      const statement =
        table === 'books' ? sql`SELECT count(*) FROM books` : sql`SELECT count(*) FROM shelves`
      return Number((await db.arrays(statement))[0]![0])
    }
    assert.equal(await purgeAfter(1), 0)
    assert.equal(await purgeAfter(3), 0, 'the deleted book still refers to the shelf')
    assert.deepEqual([await countOf('shelves'), await countOf('books')], [2, 1])
    assert.equal(await purgeAfter(31), 2)
    assert.deepEqual([await countOf('shelves'), await countOf('books')], [1, 0])
    assert.equal((await post(`/api/v1/shelves/${shelf.id}/restore`)).status, 404)
    assert.equal((await post('/api/v1/shelves', { name: 'a' })).status, 201)
    assert.deepEqual(await idsOf(app, '/api/v1/shelves?name=b'), [live.id])
  },
  library,
)

const tags = resource('tags', {
  fields: { id: f.id(), name: f.string() },
  list: { filter: [], sort: [] },
  access: all('tags'),
  events: ['tag.deleted'],
})
const marks = resource('marks', {
  fields: { id: f.id(), tag_id: f.ref('tags').onDelete('cascade') },
  list: { filter: [], sort: [] },
  access: all('marks'),
  events: ['mark.deleted'],
  softDelete: true,
})

eachService(
  'a deletion for good deletes referring rows for good, also those that were deleted before',
  async (app) => {
    const { post } = app
    const { body: tag } = await post('/api/v1/tags', { name: 'x' })
    const { body: first } = await post('/api/v1/marks', { tag_id: tag.id })
    await post('/api/v1/marks', { tag_id: tag.id })
    await app.delete(`/api/v1/marks/${first.id}`)
    assert.equal((await app.delete(`/api/v1/tags/${tag.id}`)).status, 204)
    assert.deepEqual(await idsOf(app, '/api/v1/marks?deleted=true'), [])
    assert.equal(await totalOf(app, '/api/v1/marks'), 0)
    assert.deepEqual(await typesOf(app), ['mark.deleted', 'mark.deleted', 'tag.deleted'])
  },
  { service: service({ name: 'tags', versions, resources: [tags, marks] }) },
)

test('contradictions of soft deletion are reported at start', () => {
  const fields = { id: f.id(), name: f.string() }
  const list = { filter: [], sort: [] } as const
  const base = { fields, list, events: [] } as const
  const access = all('things')
  const serve = (...resources: Parameters<typeof service>[0]['resources']) =>
    service({ name: 's', versions, resources })
  const things = () => resource('things', { ...base, access, softDelete: true })
  const part = resource('parts', {
    ...base,
    fields: { id: f.id(), thing_id: f.ref('things').onDelete('cascade') },
    access,
  })
  const cases: [() => unknown, RegExp][] = [
    [() => serve(things(), part), /parts\.thing_id cascades/],
    [() => serve(things().action('restore', { scope: 'w' })), /restore another name/],
    [() => serve(things().signsIn({ username: 'name' })), /loses its credentials/],
    [
      () =>
        serve(resource('t', { ...base, access: { ...access, delete: false }, softDelete: true })),
      /name the scope/,
    ],
    [
      () => resource('t', { ...base, access, softDelete: { purgeAfterDays: 0 } }),
      /purgeAfterDays is from 1 to 3650/,
    ],
    [
      () => {
        const own = { ...fields, deleted_at: f.time().nullable().default(null) }
        return resource('t', { ...base, fields: own, access, softDelete: true })
      },
      /declare no such field/,
    ],
  ]
  for (const [declare, sentence] of cases) {
    assert.throws(
      declare,
      (error) => error instanceof DeclarationError && sentence.test(error.message),
    )
  }
})

test('the migration of the guide gives a table the unique indexes of a new one', async (t) => {
  const guide = new URL('../../../../docs/guides/deleted-rows.md', import.meta.url)
  const text = /`(DROP INDEX [^`]+)`/.exec(readFileSync(guide, 'utf8'))![1]!
  const declare = (softDelete: boolean, migrations: Service['definition']['migrations'] = []) => {
    const pages = resource('pages', {
      fields: { id: f.id(), slug: f.string().unique() },
      list: { filter: ['slug'], sort: [] },
      access: all('pages'),
      events: [],
      softDelete,
    })
    return service({ name: 'wiki', versions, resources: [pages], migrations }).definition
  }
  const [older, fresh] = await Promise.all([sqlite.openMigrated(t), sqlite.openMigrated(t)])
  await migrateService(older, declare(false))
  const migration = { number: 1, name: 'deleted rows', table: 'pages', sql: text }
  await migrateService(older, declare(true, [migration]))
  await migrateService(fresh, declare(true))
  const indexesOf = (db: typeof older) =>
    db.all(sql`SELECT name, sql FROM sqlite_master WHERE tbl_name = 'pages' AND type = 'index'
      ORDER BY name`)
  assert.deepEqual(await indexesOf(older), await indexesOf(fresh))
})
