/**
 * §8.08: a change between versions applies to batches, exports, expanded rows, metadata, and the
 * rows that own routes return.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const access = { read: 's:read', create: 's:write', update: 's:write', delete: false } as const

const shelves = resource('shelves', {
  fields: { id: f.id(), label: f.string().max(50) },
  list: { filter: ['label'], sort: ['label'] },
  access,
  events: [],
}).before('v2', {
  why: 'A shelf has a label.',
  had: { title: f.string().max(50) },
  hadNot: ['label'],
  up: ({ title }) => ({ label: title }),
  down: ({ label }) => ({ title: label }),
  renamed: { title: 'label' },
})

const books = resource('books', {
  fields: { id: f.id(), shelf_id: f.ref('shelves'), pages: f.int(), metadata: f.metadata() },
  list: { filter: ['metadata', 'pages'], sort: ['pages'] },
  access,
  events: ['book.created'],
  batch: true,
  export: true,
}).before('v2', {
  why: 'Books stand on shelves, and their tags are metadata.',
  had: { place_id: f.ref('shelves'), sheets: f.int(), tags: f.metadata() },
  hadNot: ['shelf_id', 'pages', 'metadata'],
  up: (old) => ({ shelf_id: old.place_id, pages: old.sheets * 2, metadata: old.tags }),
  down: (row) => ({
    place_id: row.shelf_id,
    sheets: Math.ceil(row.pages / 2),
    tags: row.metadata,
  }),
  renamed: { place_id: 'shelf_id', tags: 'metadata' },
})

const LIBRARY = {
  service: service({
    name: 'library',
    versions: { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } },
    resources: [shelves, books],
  }).route({
    method: 'GET',
    path: '/thickest',
    scope: 's:read',
    summary: 'The thickest book, and its shelf.',
    output: { book: books, shelves: [shelves], note: f.string() },
    handle: async ({ read, show, version }) => {
      const book = await read.get(books, 1)
      const shelf = await read.get(shelves, book.shelf_id)
      return { body: { book: show(book), shelves: [shelf], note: version } }
    },
  }),
}

const OLD_BOOK = { id: 1, place_id: 1, sheets: 100, tags: { lang: 'de' } }

eachService(
  'batches, exports, expanded rows, metadata and own routes have the shape of the old version',
  async ({ get, post }) => {
    assert.equal((await post('/api/v1/shelves', { title: 'A' })).status, 201)
    const item = { place_id: 1, sheets: 100, tags: { lang: 'de' } }
    const batch = await post('/api/v1/books/batch', { items: [item, { ...item, tags: {} }] })
    assert.deepEqual(batch.body.items[0].body, OLD_BOOK)
    assert.equal((await get('/api/v2/books/1')).body.pages, 200)
    const wrong = await post('/api/v1/books/batch', { items: [{ ...item, sheets: 'x' }] })
    assert.equal(wrong.body.errors[0].pointer, '/items/0/sheets')

    const lines = await get('/api/v1/books', { accept: 'application/x-ndjson' })
    assert.deepEqual(JSON.parse(lines.text.split('\n')[0]!), OLD_BOOK)
    const csv = await get('/api/v1/books', { accept: 'text/csv' })
    assert.match(csv.text, /^id,place_id,sheets,tags\r?\n1,1,100,/)

    const shelf = { id: 1, title: 'A' }
    const expanded = (await get('/api/v1/books/1?expand=place')).body
    assert.deepEqual(expanded, { ...OLD_BOOK, place: shelf })
    const page = (await get('/api/v1/books?expand=place')).body.data
    assert.deepEqual(page[0].place, shelf)
    assert.equal((await get('/api/v1/books?expand=shelf')).status, 400)

    const tagged = (await get('/api/v1/books?tags[lang]=de')).body.data
    assert.deepEqual(tagged, [OLD_BOOK])
    assert.equal((await get('/api/v1/books?metadata[lang]=de')).status, 400)

    const route = await get('/api/v1/thickest')
    assert.deepEqual(route.body, { book: OLD_BOOK, shelves: [shelf], note: 'v1' })
    assert.deepEqual((await get('/api/v2/thickest')).body.shelves, [{ id: 1, label: 'A' }])
  },
  LIBRARY,
)
