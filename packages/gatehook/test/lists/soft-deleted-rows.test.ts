/**
 * §7.9, §11.5: a page passes no rows that are marked as deleted, however many precede its own. The
 * test counts rows that PostgreSQL fetched, and reads the plans of SQLite; it measures no time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { deletedCollection, resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import type { Reader } from '../../src/platform/storage/database.ts'
import { prepareStatement } from '../../src/platform/storage/sql.ts'
import { CONCURRENT_BOUNDS } from '../../src/protocol/lists/bounds.ts'
import type { Collection } from '../../src/protocol/lists/collection.ts'
import { isServedByIndex, readBoundedKeys } from '../../src/protocol/lists/page-plan.ts'
import { pageStatement } from '../../src/protocol/lists/page-query.ts'
import type { Walk } from '../../src/protocol/lists/walk.ts'
import { ACCESS, HEAD } from '../storage/team-database.ts'
import { fill, follow, idsOf, run } from './rows.ts'

const DELETED = 5_000
const LIVE = 30
const PAGE = 21
/** A page, its ties, and two counts of a filter's range. */
const FETCHED_MAX = 200

const NOTES = service({
  ...HEAD,
  resources: [
    resource('folders', {
      fields: { id: f.id(), name: f.string().max(40) },
      list: { filter: [], sort: ['id'] },
      access: ACCESS,
      events: [],
    }),
    resource('notes', {
      fields: {
        id: f.id(),
        title: f.string().max(40),
        email: f.email().nullable().default(null).unique(),
        folder_id: f.ref('folders').onDelete('restrict'),
        rank: f.int().default(0),
      },
      list: {
        filter: ['title', 'folder_id', 'email'],
        sort: ['id', 'title', 'folder_id', ['rank', 'title']],
      },
      access: ACCESS,
      events: [],
      softDelete: true,
    }),
  ],
})
const [, NOTE] = NOTES.definition.resources
const notes = resourceCollection(NOTE!, NOTES.definition.resources)

/** Fills deleted rows, which precede the others in every order, and returns the scope. */
async function fillNotes({ app }: TestApp): Promise<number> {
  const folder = { name: "'f' || n" }
  await fill(app.db, 'folders', 1, folder)
  const scope = await fill(app.db, 'notes', DELETED + LIVE, {
    title: `CASE WHEN n > ${DELETED} THEN 'b' ELSE 'a' END`,
    email: "'e' || n || '@x.io'",
    gh_folded_email: "'e' || n || '@x.io'",
    folder_id: '1',
    rank: `CASE WHEN n > ${DELETED} THEN 2 ELSE 1 END`,
    deleted_at: `CASE WHEN n > ${DELETED} THEN NULL ELSE n END`,
  })
  return scope
}

const walkOf = (collection: Collection, scope: number, sort: string): Walk => ({
  collection,
  scope,
  owner: undefined,
  sort: [
    ...(sort === 'id' ? [] : sort.split(',').map((column) => ({ column, descending: false }))),
    { column: 'id', descending: false },
  ],
  backward: false,
  anchor: undefined,
  terms: [],
  inclusive: false,
  limit: PAGE,
  skip: 0,
  filters: [],
})

const filter = (column: string, operator: 'eq' | 'gte', value: string | number) => ({
  column,
  operator,
  values: [value],
  parameter: column,
})

/** The pages of the test: sort and filters. */
const pages: readonly (readonly [sort: string, filters: Walk['filters'], rows: number])[] = [
  ['id', [], PAGE],
  ['title', [], PAGE],
  ['folder_id', [], PAGE],
  ['rank,title', [], PAGE],
  ['id', [filter('folder_id', 'eq', 1)], PAGE],
  ['title', [filter('title', 'gte', 'a')], PAGE],
  ['id', [filter('title', 'eq', 'a')], 0],
  ['id', [filter('email', 'gte', 'e')], PAGE],
  ['title', [filter('folder_id', 'eq', 1)], PAGE],
]

const read = async (reader: Reader, walk: Walk) =>
  isServedByIndex(walk)
    ? reader.arrays(pageStatement(walk))
    : readBoundedKeys(reader, walk, CONCURRENT_BOUNDS)

const fetched = prepareStatement(`SELECT coalesce(sum(idx_tup_fetch + seq_tup_read), 0) AS n
  FROM pg_stat_xact_user_tables WHERE relname = 'notes'`)

test('a page of PostgreSQL fetches a bounded number of rows', async (t) => {
  const own = await openService(t, 'postgres', { service: NOTES })
  const scope = await fillNotes(own)
  await own.app.db.migrate(async (_, ddl) => ddl('ANALYZE notes'))
  await own.app.db.snapshot(async (reader) => {
    const count = async () => Number((await reader.get(fetched([])))!.n)
    for (const [sort, filters, rows] of pages) {
      const before = await count()
      const keys = await read(reader, { ...walkOf(notes, scope, sort), filters })
      const place = `${sort} ${filters.map(({ column }) => column)}`
      assert.equal(keys.length, rows, place)
      assert.ok((await count()) - before <= FETCHED_MAX, `${place}: ${(await count()) - before}`)
    }
  })
})

/** SQLite reads NULL of an index like a value, with the order of the columns that follow. */
const LIVE_INDEX = /INDEX notes_live_by_|deleted_at=\?/

test('a page of SQLite reads an index of the rows that are not deleted', async (t) => {
  const own = await openService(t, 'sqlite', { service: NOTES })
  const scope = await fillNotes(own)
  for (const [sort, filters] of pages) {
    const walk = { ...walkOf(notes, scope, sort), filters }
    if (!isServedByIndex(walk)) continue
    const statement = pageStatement(walk)
    const explained = { ...statement, sql: `EXPLAIN QUERY PLAN ${statement.sql}` }
    const steps = await own.app.db.all<{ detail: string }>(explained)
    const plan = steps.map(({ detail }) => detail).join('; ')
    assert.match(plan, LIVE_INDEX, `${sort}: ${plan}`)
  }
})

for (const kind of ['sqlite', 'postgres'] as const) {
  test(`lists of deleted rows and of others have their rows [${kind}]`, async (t) => {
    const own = await openService(t, kind, { service: NOTES })
    const { app, get, post } = own
    await post('/api/v1/folders', { name: 'f' })
    for (const title of ['c', 'a', 'b', 'd']) {
      await post('/api/v1/notes', { title, folder_id: 1, email: `${title}@x.io` })
    }
    for (const id of [2, 3]) await own.delete(`/api/v1/notes/${id}`)
    const walked = async (query: string) =>
      (await follow({ get }, `/api/v1/notes?limit=1&${query}`)).flatMap(idsOf)
    for (const sort of ['title', 'rank,title', 'folder_id,title', 'id']) {
      assert.deepEqual(await walked(`sort=${sort}`), [1, 4], sort)
      assert.deepEqual(await walked(`deleted=true&sort=${sort}`), [2, 3], sort)
    }
    assert.deepEqual(await walked('deleted=true&folder_id=1&sort=title'), [2, 3])
    assert.deepEqual(await walked('email=C@X.io'), [1])
    assert.equal((await post('/api/v1/notes/2/restore')).status, 200)
    assert.deepEqual(await walked('sort=title'), [2, 1, 4])
    assert.equal((await own.delete('/api/v1/folders/1')).status, 409)
    const { indexes } = deletedCollection(NOTE!, notes)
    assert.ok(indexes!.every((columns) => !columns.includes('title')))
    await run(app.db, 'DELETE FROM notes')
    assert.equal((await own.delete('/api/v1/folders/1')).status, 204)
  })
}
