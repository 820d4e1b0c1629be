/**
 * §6.31, §7.12: rows that a node of the previous declaration writes get the values of new stored
 * computed fields and the words of a new search once that node is gone; on SQLite at the next
 * start.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { resource } from '../../src/declare/resources/resource.ts'
import { type Service, service } from '../../src/declare/resources/service.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
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
    ownership: { takesOver: false },
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

interface FillJob {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly run_at: string
  readonly created_at: string
}

/** The jobs of a node that fill rows, as operators see them. */
async function fillsOf(app: Awaited<ReturnType<typeof open>>) {
  const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const list = async (): Promise<readonly FillJob[]> =>
    (await admin.get('/admin/jobs?kind=fill')).body.data
  return {
    /** Waits until each job has looked at the nodes, and goes on waiting for one of them. */
    async look() {
      const isLater = ({ state, run_at, created_at }: FillJob) =>
        state === 'waiting' && run_at > created_at
      const jobs = await eventually(list, (rows) => rows.length > 0 && rows.every(isLater))
      return jobs.map(({ name }) => name).sort()
    },
    async cancel() {
      const [{ id } = assert.fail()] = await list()
      return (await admin.post(`/admin/jobs/${id}/cancel`, {})).body.error
    },
    /** Lets the jobs look at the nodes at once, until all have ended. */
    async finish() {
      const retry = async () => {
        const jobs = await list()
        for (const { id, state } of jobs)
          if (state !== 'done') await admin.post(`/admin/jobs/${id}/retry`, {})
        return jobs
      }
      await eventually(retry, (jobs) => jobs.every(({ state }) => state === 'done'))
    },
  }
}

test('rows of old nodes are completed when the last of these is gone [postgres]', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const old = await open(t, before, url)
  await old.app.work()
  const changed = await create(old, 'one apple', 1)
  const removed = await create(old, 'two apples', 2)
  const next = await open(t, after, url)
  await next.app.work()
  const fills = await fillsOf(next)
  assert.deepEqual(await ids(next, 'q=apple'), [changed, removed].sort())

  await old.patch(`${PATH}/${changed}`, { text: 'one plum', count: 10 })
  await old.delete(`${PATH}/${removed}`)
  const added = await create(old, 'three pears', 3)
  assert.deepEqual(await fills.look(), ['lines words of text 2', 'lines.double'])
  assert.deepEqual(await ids(next, 'double=6'), [], 'the old node runs')
  assert.equal(await fills.cancel(), 'invalid_state')

  await old.app.close()
  await fills.finish()
  assert.deepEqual(await ids(next, 'double=6'), [added])
  assert.deepEqual(await ids(next, 'double=20'), [changed])
  assert.deepEqual(await ids(next, 'q=apple'), [])
  assert.deepEqual(await ids(next, 'q=pear'), [added])
  const words = await next.app.db.arrays(sql`SELECT word FROM gh_words_lines WHERE id = ${removed}`)
  assert.deepEqual(words, [])
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
  await next.app.work()
  await create(old, 'one', 77)
  const second = await create(old, 'two', 2)
  await old.app.close()
  await (await fillsOf(next)).finish()
  assert.deepEqual(await ids(next, 'double=4'), [second])
})

/** Leaves the fills as a process does that is killed meanwhile. */
async function killDuringFills(url: string): Promise<void> {
  const db = await openDatabase(url, { log: quietLog })
  const count = await db.write((tx) =>
    tx.run(sql`UPDATE gh_jobs SET state = 'running', attempt = 1, node = 'killed'
      WHERE lane = 'fill' AND state = 'waiting'`),
  )
  await db.close()
  assert.equal(count, 2)
}

for (const isKilled of [false, true]) {
  const process = isKilled ? 'process after a kill' : 'process'
  test(`the next ${process} completes rows of the previous declaration [sqlite]`, async (t) => {
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
    if (isKilled) await killDuringFills(url)
    await run(after, async (app) => {
      assert.deepEqual(await ids(app, 'double=10'), [changed])
      assert.deepEqual(await ids(app, 'double=6'), [added])
      assert.deepEqual(await ids(app, 'q=apple'), [])
      assert.deepEqual(await ids(app, 'q=pear'), [added])
      await create(app, 'four', 4)
    })
  })
}
