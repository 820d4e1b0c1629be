/**
 * §6.31, §7.12: rows that a node of the previous declaration writes get the values of new stored
 * computed fields and the words of a new search once that node is gone; on SQLite at the next
 * start.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { createAwaitedFills } from '../../src/declare/resources/awaited-fills.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type Service, service } from '../../src/declare/resources/service.ts'
import { wallClock } from '../../src/kernel/clock.ts'
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

const fillsOf = (app: TestApp, declared: Service, log = quietLog) =>
  createAwaitedFills({ db: app.app.db, clock: wallClock, log, service: declared.definition })

test('rows of old nodes are completed when the last of these is gone [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const old = await open(t, before, url)
  await old.app.work()
  const changed = await create(old, 'one apple', 1)
  const removed = await create(old, 'two apples', 2)
  const next = await open(t, after, url)
  await next.app.work()
  const fills = fillsOf(next, after)
  assert.deepEqual(await ids(next, 'q=apple'), [changed, removed].sort())

  await old.patch(`${PATH}/${changed}`, { text: 'one plum', count: 10 })
  await old.delete(`${PATH}/${removed}`)
  const added = await create(old, 'three pears', 3)
  await fills.run()
  assert.deepEqual(await ids(next, 'double=6'), [], 'the old node runs')

  await old.app.close()
  await fills.run()
  assert.deepEqual(await ids(next, 'double=6'), [added])
  assert.deepEqual(await ids(next, 'double=20'), [changed])
  assert.deepEqual(await ids(next, 'q=apple'), [])
  assert.deepEqual(await ids(next, 'q=pear'), [added])
  const words = await next.app.db.arrays(sql`SELECT word FROM gh_words_lines WHERE id = ${removed}`)
  assert.deepEqual(words, [])
  await next.app.db.write((tx) => tx.run(sql`UPDATE lines SET double = 1`))
  await fills.run()
  assert.deepEqual((await ids(next, 'double=1')).length, 2, 'the fill runs once')
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
  await old.app.work()
  const next = await open(t, failing, url)
  await create(old, 'one', 77)
  const second = await create(old, 'two', 2)
  await old.app.close()
  await fillsOf(next, failing).run()
  assert.deepEqual(await ids(next, 'double=4'), [second])
})

test('the next process completes rows of the previous declaration [sqlite]', async (t) => {
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
})
