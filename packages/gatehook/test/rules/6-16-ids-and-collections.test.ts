/** §6.16: ids with a prefix in searches, exports, soft deletion, versions, jobs and own code. */
import assert from 'node:assert/strict'
import { eachDatabase } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import { migrateService } from '../../src/declare/resources/migrate.ts'
import { createRowPurge } from '../../src/declare/resources/purge.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { createRowId } from '../../src/kernel/row-id.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { bearerOf, emailOf, openPeople, PASSWORD } from '../people/rig.ts'

const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique() },
  list: { filter: [], sort: [] },
  access: { read: 'people:read', create: 'people:write', update: false, delete: false },
  events: [],
}).signsIn({ username: 'email' })

const booksWith = (search: readonly 'name'[]) =>
  resource('books', {
    fields: {
      id: f.id('bk'),
      person_id: f.ref('people').owner().nullable().default(null),
      name: f.string().max(40),
      readers: f.int().default(0),
      shout: f.derived(f.string().max(41), "name || '!'"),
    },
    list: { filter: ['readers', 'shout'], sort: ['name', 'shout'] },
    access: {
      read: 'books:read',
      create: 'books:write',
      update: 'books:write',
      delete: 'books:write',
    },
    events: ['book.created', 'book.updated', 'book.deleted', 'book.restored'],
    search,
    softDelete: { purgeAfterDays: 2 },
    export: true,
  })
const books = booksWith(['name'])
const copies = resource('copies', {
  fields: { id: f.id('cp'), book_id: f.ref('books', 'bk'), shelf: f.string() },
  list: { filter: ['book_id'], sort: ['book_id'] },
  access: {
    read: 'copies:read',
    create: 'copies:write',
    update: 'copies:write',
    delete: 'copies:write',
  },
  events: ['copy.created'],
})
  .ownedBy('book_id')
  .before('v2', {
    why: 'A copy is of a book.',
    had: { volume: f.ref('books', 'bk') },
    hadNot: ['book_id'],
    up: ({ volume }) => ({ book_id: volume }),
    down: ({ book_id }) => ({ volume: book_id }),
    renamed: { volume: 'book_id' },
  })

const versions = { v1: { released: '2025-01-01' }, v2: { released: '2026-01-01' } }
const library = service({ name: 'Library', versions, resources: [people, books, copies] })
  .route({
    method: 'POST',
    path: '/books/:id/lend',
    scope: 'books:write',
    summary: 'Lend a copy.',
    input: { copy_id: f.ref('copies', 'cp') },
    output: books,
    async handle({ params, input, write, show }) {
      const book = await write(async (tx) => {
        const { readers } = await tx.lock(books, params.id)
        const copy = await tx.get(copies, input.copy_id)
        await tx.update(copies, copy.id, { shelf: 'none' })
        return tx.update(books, copy.book_id, { readers: readers + 1 })
      })
      return { body: show(book) }
    },
  })
  .on(copies, 'copy.created', async ({ event, write }) => {
    const { book_id } = event.data.object
    await write((tx) => tx.update(books, book_id, { readers: 7 }))
  })
const LIBRARY = { service: library }

const idsIn = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id)

async function createRow({ post }: Pick<Caller, 'post'>, path: string, body: object) {
  const reply = await post(`/api/v2/${path}`, body)
  assert.equal(reply.status, 201, reply.text)
  return reply.body.id as string
}

eachService(
  'a search finds rows, pages through them, and follows changes and deletions',
  async (app) => {
    const ids: string[] = []
    for (const name of ['red book', 'red tea', 'blue book', 'red ink'])
      ids.push(await createRow(app, 'books', { name }))
    const [red, tea, , ink] = ids as [string, string, string, string]
    const idsOf = async (q: string) => idsIn((await app.get(`/api/v2/books?${q}`)).body).sort()
    assert.deepEqual(await idsOf('q=red'), [red, tea, ink].sort())
    assert.deepEqual(await idsOf('q=red boo'), [red])
    const first = (await app.get('/api/v2/books?q=red&limit=2')).body
    const rest = (await app.get(`/api/v2/books?q=red&cursor=${first.next_cursor}`)).body
    assert.deepEqual([...idsIn(first), ...idsIn(rest)], [red, tea, ink].sort())
    await app.patch(`/api/v2/books/${tea}`, { name: 'green tea' })
    assert.deepEqual(await idsOf('shout=green tea!'), [tea])
    const top = (await app.get('/api/v2/books?sort=-shout&limit=1')).body
    const more = (await app.get(`/api/v2/books?sort=-shout&cursor=${top.next_cursor}`)).body
    assert.deepEqual([...idsIn(top), ...idsIn(more)], [ink, red, tea, ids[2]])
    assert.equal((await app.delete(`/api/v2/books/${ink}`)).status, 204)
    assert.deepEqual(await idsOf('q=red'), [red])
    assert.deepEqual(await idsOf('deleted=true'), [ink])
    assert.equal((await app.post(`/api/v2/books/${ink}/restore`)).body.id, ink)
    assert.deepEqual(await idsOf('q=red'), [red, ink].sort())
  },
  LIBRARY,
)

eachService(
  'a purge deletes the row with its words and those that refer to it',
  async (app) => {
    const { db } = app.app
    const [book, other] = [
      await createRow(app, 'books', { name: 'old' }),
      await createRow(app, 'books', { name: 'new' }),
    ]
    await app.delete(`/api/v2/books/${book}`)
    const now = Date.now() + 3 * 86_400_000
    const clock = { now: () => now, elapsedMs: () => 0 }
    assert.equal(await createRowPurge(library.definition, { db, clock })(), 1)
    assert.deepEqual(await db.arrays(sql`SELECT id FROM books`), [[other]])
    assert.deepEqual(await db.arrays(sql`SELECT id, word FROM gh_words_books`), [[other, 'new']])
  },
  LIBRARY,
)

eachService(
  'an export has all rows in the order of ids, and resumes after an id or a cursor',
  async (app) => {
    const ids: string[] = []
    for (let n = 0; n < 30; n++) ids.push(await createRow(app, 'books', { name: `n${n % 4}` }))
    ids.sort()
    const linesOf = async (query: string) => {
      const { text } = await app.get(`/api/v2/books${query}`, { accept: 'application/x-ndjson' })
      return text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    }
    assert.deepEqual(idsIn({ data: await linesOf('') }), ids)
    assert.deepEqual(idsIn({ data: await linesOf(`?after_id=${ids[9]}`) }), ids.slice(10))
    const withCursors = await linesOf('?cursors=true')
    const at = withCursors.findIndex((line) => '_cursor' in line)
    const rest = await linesOf(`?cursor=${withCursors[at]._cursor}`)
    assert.deepEqual(idsIn({ data: rest }), ids.slice(at))
    const { text } = await app.get('/api/v2/books', { accept: 'text/csv' })
    assert.ok(text.includes(`\n${ids[0]},,n`), text)
  },
  LIBRARY,
)

eachService(
  'older versions have the ids, and filter by a reference with its old name',
  async (app) => {
    const book = await createRow(app, 'books', { name: 'a' })
    const created = await app.post('/api/v1/copies', { volume: book, shelf: 'A' })
    assert.equal(created.status, 201, created.text)
    const { id } = created.body
    assert.deepEqual(created.body, { id, shelf: 'A', volume: book })
    assert.deepEqual((await app.get(`/api/v2/copies/${id}`)).body.book_id, book)
    assert.deepEqual(idsIn((await app.get(`/api/v1/copies?volume=${book}`)).body), [id])
    const { body } = await app.get(`/api/v1/copies/${id}?expand=volume`)
    assert.equal(body.volume.id, book)
    const wrong = await app.patch(`/api/v1/copies/${id}`, { volume: id })
    assert.deepEqual([wrong.status, wrong.body.errors[0].pointer], [422, '/volume'])
  },
  LIBRARY,
)

eachService(
  'own code reads, locks and changes rows by their ids; an id of no row is 404',
  async (app) => {
    const book = await createRow(app, 'books', { name: 'a' })
    const copy = await createRow(app, 'copies', { book_id: book, shelf: 'A' })
    const path = `/api/v2/books/${book}/lend`
    const lent = await app.post(path, { copy_id: copy })
    assert.equal(lent.status, 200, lent.text)
    assert.equal(lent.body.readers, 1)
    assert.equal((await app.get(`/api/v2/copies/${copy}`)).body.shelf, 'none')
    for (const other of ['7', 'bk_', copy]) {
      assert.equal((await app.post(`/api/v2/books/${other}/lend`, { copy_id: copy })).status, 404)
    }
    assert.equal((await app.post(path, { copy_id: book })).status, 422)
    const dry = { prefer: 'dry-run' }
    const planned = await app.post('/api/v2/books', { name: 'dry' }, dry)
    assert.equal((await app.get(`/api/v2/books/${planned.body.id}`)).status, 404)
    const key = { 'idempotency-key': 'once' }
    const [once, again] = [
      await app.post('/api/v2/books', { name: 'b' }, key),
      await app.post('/api/v2/books', { name: 'b' }, key),
    ]
    assert.equal(again.body.id, once.body.id)
  },
  LIBRARY,
)

eachService(
  'handlers of events receive the ids',
  async (app) => {
    await app.app.work()
    const book = await createRow(app, 'books', { name: 'a' })
    await createRow(app, 'copies', { book_id: book, shelf: 'A' })
    const read = async () => (await app.get(`/api/v2/books/${book}`)).body.readers
    await eventually(read, (readers) => readers === 7)
  },
  LIBRARY,
)

/** Signs in a person with the scopes of its books and copies. */
async function personOf(app: TestApp, name: string) {
  const { operator, token, anonymous } = await openPeople(app)
  const scopes = ['books:read', 'books:write', 'copies:read', 'copies:write']
  const body = { email: emailOf(name), password: PASSWORD, mode: 'test', scopes }
  const created = await operator.post('/admin/users', body)
  assert.equal(created.status, 201, created.text)
  const sent = bearerOf(await token(emailOf(name)))
  return {
    id: created.body.id as number,
    get: (path: string) => anonymous.get(path, sent),
    post: (path: string, input?: unknown) => anonymous.post(path, input, sent),
  }
}

eachService(
  'a person reaches rows that belong to its rows, and no others',
  async (app) => {
    const [ada, bob] = [await personOf(app, 'ada'), await personOf(app, 'bob')]
    const book = await createRow(ada, 'books', { name: 'mine', person_id: ada.id })
    const copy = await createRow(ada, 'copies', { book_id: book, shelf: 'A' })
    assert.deepEqual(idsIn((await ada.get('/api/v2/copies')).body), [copy])
    assert.deepEqual(idsIn((await bob.get('/api/v2/copies')).body), [])
    assert.deepEqual(idsIn((await bob.get('/api/v2/books?q=mine')).body), [])
    assert.equal((await bob.get(`/api/v2/copies/${copy}`)).status, 404)
    assert.equal((await bob.post('/api/v2/copies', { book_id: book, shelf: 'B' })).status, 422)
  },
  LIBRARY,
)

eachDatabase('a start indexes the words of existing rows, in batches', async (db) => {
  await migrateEngine(db, { clock: wallClock })
  const start = async (search: readonly 'name'[]) => {
    const resources = [people, booksWith(search)]
    const { definition } = service({ name: 'Library', versions, resources })
    await migrateService(db, definition, () => {})
  }
  await start([])
  const random = systemRandom()
  const ids = Array.from({ length: 1_200 }, (_, n) => createRowId('bk', n, random))
  await db.write(async (tx) => {
    for (const [n, id] of ids.entries()) {
      await tx.run(sql`INSERT INTO books (scope, id, name, readers)
        VALUES (${(n % 2) * 2}, ${id}, ${`w${n}`}, 0)`)
    }
  })
  await start(['name'])
  const rows = await db.arrays(sql`SELECT id FROM gh_words_books ORDER BY id`)
  assert.deepEqual(rows.flat(), ids)
})
