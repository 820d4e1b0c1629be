/**
 * §6.31, §7.12: rows that a node of the previous declaration writes get the values of new stored
 * computed fields and the words of a new search: on PostgreSQL beside that node, on SQLite when the
 * next process starts.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type Service, service } from '../../src/declare/resources/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { f } from '../../src/protocol/fields/f.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const fields = { id: f.id('ln'), text: f.string(), count: f.int() }
const list = { filter: ['count'], sort: ['id'] } as const
const versions = { v1: { released: '2025-01-01' } }

const before = service({
  name: 'till',
  versions,
  resources: [resource('lines', { access, events: [], fields, list })],
})

const after = service({
  name: 'till',
  versions,
  resources: [
    resource('lines', {
      access,
      events: [],
      fields: { ...fields, double: f.computed(f.int().default(0)).stored() },
      list: { filter: ['count', 'double'], sort: ['id', 'double'] },
      search: ['text'],
    }).compute('double', ({ count }) => (count as number) * 2),
  ],
})

const PATH = '/api/v1/lines'
const KEY = { scopes: ['r', 'w'] }

const open = async (t: TestContext, declared: Service, url: string) => {
  const opened = await openService(t, url.startsWith('sqlite') ? 'sqlite' : 'postgres', {
    service: declared,
    url,
  })
  return { ...opened, ...opened.as(await opened.key(KEY)) }
}

const create = async (app: TestApp, text: string, count: number): Promise<string> => {
  const { status, body } = await app.post(PATH, { text, count })
  assert.equal(status, 201)
  return body.id
}

/** The ids that a list returns, sorted. */
const ids = async (app: TestApp, query: string): Promise<string[]> => {
  const { status, body } = await app.get(`${PATH}?${query}`)
  assert.equal(status, 200, JSON.stringify(body))
  return body.data.map(({ id }: { id: string }) => id).sort()
}

test('rows of an old node have new values before a read of a new node [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const old = await open(t, before, url)
  const first = await create(old, 'one apple', 1)
  const next = await open(t, after, url)
  const second = await create(old, 'two pears', 2)
  assert.equal((await next.get(`${PATH}/${second}`)).body.double, 4)
  const third = await create(old, 'three apples', 3)
  assert.deepEqual(await ids(next, 'double=6'), [third])
  assert.deepEqual(await ids(next, 'sort=-double&limit=1'), [third])
  assert.deepEqual(await ids(next, 'q=apple'), [first, third].sort())

  await old.patch(`${PATH}/${first}`, { text: 'one plum', count: 10 })
  assert.deepEqual(await ids(next, 'double=20'), [first])
  assert.deepEqual(await ids(next, 'q=apple'), [third])
  assert.deepEqual(await ids(next, 'q=plum'), [first])

  await old.delete(`${PATH}/${third}`)
  assert.deepEqual(await ids(next, 'q=apple'), [])
  const words = await next.app.db.arrays(sql`SELECT word FROM gh_words_lines WHERE id = ${third}`)
  assert.deepEqual(words, [])
})

test('a node repairs rows of old nodes without a request [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const old = await open(t, before, url)
  const next = await open(t, after, url)
  await next.app.work()
  await create(old, 'one apple', 1)
  await create(next, 'two apples', 2)
  const read = () => next.app.db.arrays(sql`SELECT double FROM lines ORDER BY double`)
  await eventually(read, ([first]) => first?.[0] === 2, 20_000)
  assert.deepEqual(await read(), [[2], [4]])
  assert.deepEqual(await next.app.db.arrays(sql`SELECT id FROM gh_stale_rows`), [])
})

test('nodes record no row that they wrote themselves [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const [node, other] = [await open(t, after, url), await open(t, after, url)]
  const id = await create(node, 'one apple', 1)
  await other.patch(`${PATH}/${id}`, { count: 2 })
  const rows = await node.app.db.arrays(sql`SELECT id FROM gh_stale_rows`)
  assert.deepEqual(rows, [])
})

test('a row that own code cannot compute stays, and delays no other [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const failing = service({
    name: 'till',
    versions,
    resources: [
      resource('lines', {
        access,
        events: [],
        fields: { ...fields, double: f.computed(f.int().default(0)).stored() },
        list: { filter: ['double'], sort: [] },
      }).compute('double', ({ count }) => {
        if (count === 77) throw new Error('no price')
        return (count as number) * 2
      }),
    ],
  })
  const old = await open(t, before, url)
  const next = await open(t, failing, url)
  await create(old, 'one', 77)
  const second = await create(old, 'two', 2)
  assert.deepEqual(await ids(next, 'double=4'), [second])
  assert.deepEqual(await next.app.db.arrays(sql`SELECT id FROM gh_stale_rows`), [])
})

test('the next process repairs rows of the previous declaration [sqlite]', async (t) => {
  const url = await migratedUrl(t, 'sqlite')
  const run = async <T>(declared: Service, use: (app: TestApp) => Promise<T>): Promise<T> => {
    const app = await open(t, declared, url)
    const result = await use(app)
    await app.app.close()
    return result
  }
  const changed = await run(before, (app) => create(app, 'one apple', 1))
  const removed = await run(after, (app) => create(app, 'two apples', 2))
  const added = await run(before, async (app) => {
    await app.patch(`${PATH}/${changed}`, { text: 'one plum', count: 5 })
    await app.delete(`${PATH}/${removed}`)
    return create(app, 'three pears', 3)
  })
  await run(after, async (app) => {
    assert.deepEqual(await ids(app, 'double=10'), [changed])
    assert.deepEqual(await ids(app, 'double=6'), [added])
    assert.deepEqual(await ids(app, 'q=apple'), [])
    assert.deepEqual(await ids(app, 'q=pear'), [added])
    await create(app, 'four', 4)
  })
  const db = await openForTest(t, url)
  assert.deepEqual(await db.triggers('lines'), [])
  assert.deepEqual(await db.arrays(sql`SELECT id FROM gh_stale_rows`), [])
})
