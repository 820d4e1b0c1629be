/** §6.2: `.onDelete(…)` deletes or clears the rows that refer to a deleted row, with events. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { Failure, f, resource, service } from '../../src/gatehook.ts'

const declare = (name: string, event: string, fields: object) =>
  resource(name, {
    fields: { id: f.id(), ...fields } as { id: ReturnType<typeof f.id> },
    list: { filter: [], sort: ['id'] },
    access: {
      read: `${name}:read`,
      create: `${name}:write`,
      update: `${name}:write`,
      delete: `${name}:write`,
    },
    events: [`${event}.updated`, `${event}.deleted`],
  })

const shelf = () => f.ref('shelves')
const library = service({
  name: 'library',
  versions: { v1: { released: '2026-01-01' } },
  resources: [
    declare('shelves', 'shelf', {}),
    declare('books', 'book', { shelf_id: shelf().onDelete('cascade') }),
    declare('pages', 'page', {
      book_id: f.ref('books').onDelete('cascade'),
      locked: f.bool().default(false),
    }).rule('delete', ({ before }) => {
      if ((before as unknown as { locked: boolean }).locked) throw new Failure('conflict', 'locked')
    }),
    declare('notes', 'note', {
      shelf_id: shelf().nullable().default(null).onDelete('setNull'),
      next_id: f.ref('notes').nullable().default(null).onDelete('cascade'),
    }),
    declare('steps', 'step', {
      shelf_id: shelf().onDelete('cascade'),
      after_id: f.ref('steps').nullable().default(null),
      other: f.object({ id: f.ref('steps').nullable() }).default({ id: null }),
    }),
    declare('loans', 'loan', { book_id: f.ref('books').onDelete('restrict') }),
  ],
})

/** Creates a row and returns its path. */
async function create({ post }: TestApp, name: string, body: object = {}) {
  const reply = await post(`/api/v1/${name}`, body)
  assert.equal(reply.status, 201, reply.text)
  return { id: reply.body.id as number, path: `/api/v1/${name}/${reply.body.id}` }
}

const totalOf = async ({ get }: TestApp, name: string): Promise<number> =>
  (await get(`/api/v1/${name}?pagination=page`)).body.total

eachService(
  'a deletion deletes and clears the rows that refer to its row',
  async (app) => {
    const shelf_id = (await create(app, 'shelves')).id
    const other = await create(app, 'shelves')
    for (let n = 0; n < 2; n++) {
      const book = await create(app, 'books', { shelf_id })
      await create(app, 'pages', { book_id: book.id })
    }
    await create(app, 'books', { shelf_id: other.id })
    const note = await create(app, 'notes', { shelf_id })
    assert.equal((await app.delete(`/api/v1/shelves/${shelf_id}`)).status, 204)
    const totals = await Promise.all(
      ['shelves', 'books', 'pages'].map((name) => totalOf(app, name)),
    )
    assert.deepEqual(totals, [1, 1, 0])
    assert.equal((await app.get(note.path)).body.shelf_id, null)
    const events = (await app.get('/events')).body.data
    assert.deepEqual(
      events.map((event: { type: string }) => event.type),
      [
        ...['page.deleted', 'book.deleted', 'page.deleted', 'book.deleted'],
        ...['note.updated', 'shelf.deleted'],
      ],
    )
  },
  { service: library },
)

eachService(
  'a row that cannot be deleted keeps all rows',
  async (app) => {
    const shelves = await create(app, 'shelves')
    const book = await create(app, 'books', { shelf_id: shelves.id })
    const page = await create(app, 'pages', { book_id: book.id, locked: true })
    const refused = await app.delete(shelves.path)
    assert.deepEqual([refused.status, refused.body.message], [409, 'locked'])
    assert.equal((await app.patch(page.path, { locked: false })).status, 200)
    const loan = await create(app, 'loans', { book_id: book.id })
    const lent = await app.delete(shelves.path)
    const sentence = `Rows of loans still refer to this row of books.`
    assert.deepEqual([lent.status, lent.body.message], [409, sentence])
    assert.deepEqual([await totalOf(app, 'pages'), await totalOf(app, 'books')], [1, 1])
    await app.delete(loan.path)
    assert.equal((await app.delete(shelves.path)).status, 204)
    assert.equal(await totalOf(app, 'pages'), 0)
  },
  { service: library },
)

eachService(
  'a reference restricts the deletion of a row, whichever row the cascade deletes first',
  async (app) => {
    const shelf = await create(app, 'shelves')
    const shelf_id = shelf.id
    const first = await create(app, 'steps', { shelf_id })
    const second = await create(app, 'steps', { shelf_id })
    const references = [
      { path: first.path, after_id: second.id },
      { path: second.path, after_id: first.id },
      { path: first.path, other: { id: second.id } },
      { path: second.path, other: { id: first.id } },
    ]
    for (const { path, ...reference } of references) {
      assert.equal((await app.patch(path, reference)).status, 200)
      const reply = await app.delete(shelf.path)
      const sentence = 'Rows of steps still refer to this row of steps.'
      assert.deepEqual([reply.status, reply.body.message], [409, sentence])
      assert.equal(await totalOf(app, 'steps'), 2)
      const cleared = { after_id: null, other: { id: null } }
      assert.equal((await app.patch(path, cleared)).status, 200)
    }
    const own = await create(app, 'steps', { shelf_id })
    assert.equal((await app.patch(own.path, { after_id: own.id })).status, 200)
    assert.equal((await app.delete(shelf.path)).status, 204)
    assert.equal(await totalOf(app, 'steps'), 0)
  },
  { service: library },
)

eachService(
  'rows that refer to each other in a circle are not deleted',
  async (app) => {
    const first = await create(app, 'notes')
    const second = await create(app, 'notes', { next_id: first.id })
    await create(app, 'notes', { next_id: second.id })
    await app.patch(first.path, { next_id: second.id })
    assert.equal((await app.delete(first.path)).status, 409)
    assert.equal(await totalOf(app, 'notes'), 3)
    await app.patch(first.path, { next_id: null })
    assert.equal((await app.delete(first.path)).status, 204)
    assert.equal(await totalOf(app, 'notes'), 0)
  },
  { service: library },
)

eachService(
  'OpenAPI describes the effect of a deletion',
  async ({ get }) => {
    const { paths } = (await get('/openapi/v1.json')).body
    const { description } = paths['/api/v1/shelves/{id}'].delete
    const effects = /Deletes the `books` that refer to it\. Clears `shelf_id` of `notes`/
    assert.match(description, effects)
  },
  { service: library },
)

test('an effect goes with a reference that allows it', () => {
  const mistakes: readonly [() => unknown, RegExp][] = [
    [() => declare('notes', 'note', { a: f.int().onDelete('cascade') }), /goes with f\.ref/],
    [() => declare('notes', 'note', { a: shelf().onDelete('setNull') }), /needs \.nullable\(\)/],
    [() => declare('notes', 'note', { a: shelf().onDelete('drop' as never) }), /is restrict, /],
  ]
  for (const [call, sentence] of mistakes) assert.throws(call, sentence)
})
