/**
 * §2.8: a moved service, and a restored backup, searches, counts, filters by computed values,
 * restores deleted rows, expands joins and runs the jobs that waited.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freshFolder, freshUrl, type Kind } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { moveDatabase } from '../../../../test/rig/move.ts'
import { type Caller, openService, type TestApp } from '../../../../test/rig/service.ts'
import { f, job, resource, service } from '../../src/gatehook.ts'
import { findNewestEvent } from '../../src/history/events/store.ts'
import { backupSqlite, restoreSqlite } from '../../src/platform/storage/sqlite-backup.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const books = resource('books', {
  fields: {
    id: f.id(),
    title: f.string().max(40),
    price: f.int().min(0),
    count: f.int().min(0),
    worth: f.computed(f.int()).stored(),
  },
  list: { filter: ['worth', 'title'], sort: ['worth'] },
  access,
  events: ['book.created'],
  search: ['title'],
  softDelete: { scope: 'w', purgeAfterDays: 9 },
}).compute('worth', (row) => row.price * row.count)
const tags = resource('tags', {
  fields: { id: f.id(), name: f.string().max(20).unique() },
  list: { filter: [], sort: [] },
  access,
  events: [],
})
const bookTags = resource('book_tags', {
  fields: { id: f.id(), book_id: f.ref('books'), tag_id: f.ref('tags') },
  unique: [['book_id', 'tag_id']],
  list: { filter: ['tag_id'], sort: ['id'] },
  access,
  events: [],
})
const print = job('print', { title: f.string() })
const shop = service({
  name: 'Shop',
  versions: { v1: { released: '2026-01-01' } },
  resources: [books, tags, bookTags],
})
  .job(print, async ({ input, write }) => {
    await write((tx) => tx.create(tags, { name: `printed ${input.title}` }))
  })
  .route({
    method: 'POST',
    path: '/prints',
    scope: 'w',
    summary: 'Print later',
    input: { title: f.string() },
    handle: ({ input, write }) =>
      write(async (tx) => {
        await tx.enqueue(print, input)
        return {}
      }),
  })

const API = '/api/v1'

async function move(_t: TestContext, { url: from }: TestApp, to: Kind): Promise<string> {
  const url = await freshUrl(_t, to)
  await moveDatabase(from, url, shop)
  return url
}

async function restore(_t: TestContext, { url }: TestApp): Promise<string> {
  const folder = await freshFolder()
  const file = join(folder, 'backup.gatehook')
  const database = join(folder, 'restored.db')
  const stamp = { createdAt: '2027-01-31T00:00:00.000Z', release: '0.1.0', findNewestEvent }
  await backupSqlite({ database: url.slice('sqlite:'.length), file, ...stamp })
  await restoreSqlite({ file, database })
  return `sqlite:${database}`
}

/** Returns everything that a caller reads of the data of the test. */
async function observe(caller: Caller, deleted: number) {
  const read = async (path: string) => {
    const { status, body } = await caller.get(`${API}${path}`)
    return [path, status, body.data ?? body.error, body.total]
  }
  return Promise.all(
    [
      '/books?pagination=page&sort=-worth',
      '/books?q=blue+whale&pagination=page',
      '/books?q=gone',
      '/books?worth[gte]=20&sort=worth',
      '/books?deleted=true',
      `/books/${deleted}`,
      '/book_tags?expand=book,tag&pagination=page',
      '/tags?pagination=page',
    ].map(read),
  )
}

const copies = [
  ['sqlite', 'a move to postgres', (t, app) => move(t, app, 'postgres')],
  ['postgres', 'a move to sqlite', (t, app) => move(t, app, 'sqlite')],
  ['postgres', 'a move to postgres', (t, app) => move(t, app, 'postgres')],
  ['sqlite', 'a restored backup', restore],
] as const satisfies readonly (readonly [
  Kind,
  string,
  (t: TestContext, app: TestApp) => Promise<string>,
])[]

for (const [from, words, copy] of copies) {
  test(`declared data is complete after ${words} [${from}]`, async (t) => {
    const before = await openService(t, from, { service: shop })
    const key = await before.key()
    const caller = before.as(key)
    const create = async (path: string, body: object): Promise<number> => {
      const reply = await caller.post(`${API}${path}`, body)
      assert.equal(reply.status, 201, reply.text)
      return reply.body.id
    }
    const tag = await create('/tags', { name: 'sea' })
    const ids: number[] = []
    for (const title of ['Blue whale', 'Blue bird', 'Gone girl', 'The whale is blue']) {
      const count = ids.length + 1
      ids.push(await create('/books', { title, price: 10, count }))
      if (title !== 'Gone girl') await create('/book_tags', { book_id: ids.at(-1), tag_id: tag })
    }
    const [, , gone = 0] = ids
    await caller.delete(`${API}/books/${gone}`)
    assert.equal((await caller.post(`${API}/prints`, { title: 'later' })).status, 204)
    const expected = await observe(caller, gone)
    assert.deepEqual(
      expected.map(([, status]) => status),
      [200, 200, 200, 200, 200, 404, 200, 200],
    )
    assert.equal((expected[1]![2] as unknown[]).length, 2)
    const url = await copy(t, before)

    const kind = url.startsWith('sqlite:') ? 'sqlite' : 'postgres'
    const after = await openService(t, kind, { service: shop, url })
    const moved = after.as(key)
    assert.deepEqual(await observe(moved, gone), expected)
    const restored = await moved.post(`${API}/books/${gone}/restore`)
    assert.deepEqual([restored.status, restored.body.worth], [200, 30])
    const searched = await moved.get(`${API}/books?q=gone&pagination=page`)
    assert.deepEqual([searched.body.data.length, searched.body.total], [1, 1])
    assert.equal((await moved.get(`${API}/books?pagination=page`)).body.total, 4)
    const created = await moved.post(`${API}/books`, { title: 'New blue', price: 1, count: 1 })
    assert.equal(created.body.id, ids.at(-1)! + 1, 'ids continue')
    const pair = await moved.post(`${API}/book_tags`, { book_id: gone, tag_id: tag })
    assert.equal(pair.status, 201, pair.text)
    await after.app.work()
    const isPrinted = ({ body }: { body: { data: { name: string }[] } }) =>
      body.data.some(({ name }) => name === 'printed later')
    await eventually(() => moved.get(`${API}/tags`), isPrinted)
  })
}
