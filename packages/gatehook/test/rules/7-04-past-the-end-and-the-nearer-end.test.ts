/** §7.4: a page past the end is empty and links back; reads start at the nearer end. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { everyList, fill, fillUsers, idsOf, links, ok, refused } from '../lists/rows.ts'

const users = '/api/v2/users'

eachService(
  'a page past the end has totals and no next; prev is the last page',
  async ({ app, get }) => {
    await fillUsers(app.db, 5)
    for (const offset of [5, 6, 1000, Number.MAX_SAFE_INTEGER]) {
      const page = await ok(get(`${users}?offset=${offset}&limit=2`))
      assert.deepEqual(page.body, { data: [], offset, limit: 2, total: 5 })
      assert.equal(page.headers['x-total-count'], '5')
      const rels = links(page)
      assert.deepEqual(Object.keys(rels), ['first', 'prev', 'last'])
      assert.equal(rels.prev, rels.last)
      assert.deepEqual(idsOf(await ok(get(rels.prev!))), [5])
    }
    for (const page of [4, 5, 1000, Number.MAX_SAFE_INTEGER]) {
      const paged = await ok(get(`${users}?page=${page}&per_page=2`))
      assert.deepEqual(paged.body, { data: [], page, per_page: 2, total: 5, total_pages: 3 })
      const rels = links(paged)
      assert.deepEqual(Object.keys(rels), ['first', 'prev', 'last'])
      assert.equal(rels.prev, rels.last)
      assert.deepEqual(idsOf(await ok(get(rels.prev!))), [5])
      const linked = await ok(get(`${users}?pagination=hypermedia&page=${page}&per_page=2`))
      assert.equal(linked.body.links.next, undefined)
      assert.equal(linked.body.links.prev, linked.body.links.last)
      const counts = { total: 5, per_page: 2, current_page: page, total_pages: 3, from: 0, to: 0 }
      assert.deepEqual(linked.body.meta, counts)
    }
  },
)

eachService('in an empty collection total_pages, from and to are 0', async ({ get }) => {
  for (const query of ['', 'page=1', 'page=7']) {
    const page = await ok(get(`${users}?pagination=hypermedia&${query}`))
    assert.deepEqual(page.body.data, [])
    const current_page = query === 'page=7' ? 7 : 1
    const counts = { total: 0, per_page: 20, current_page, total_pages: 0, from: 0, to: 0 }
    assert.deepEqual(page.body.meta, counts)
    assert.deepEqual(Object.keys(page.body.links), ['self', 'first', 'last'])
  }
  const page = await ok(get(`${users}?page=1`))
  assert.equal(page.body.total_pages, 0)
  for (const offset of [0, 50]) {
    const page = await ok(get(`${users}?offset=${offset}`))
    assert.deepEqual(page.body, { data: [], offset, limit: 20, total: 0 })
    assert.deepEqual(Object.keys(links(page)), ['first', 'last'])
  }
  const cursor = await ok(get(users))
  assert.deepEqual(cursor.body.cursors, { next: null, prev: null })
})

eachService('pages past the end are empty on every list path', async (service) => {
  for (const { path, caller } of await everyList(service)) {
    const { total } = (await ok(caller.get(`${path}?offset=0`))).body
    const past = await ok(caller.get(`${path}?page=${total + 1}&per_page=1`))
    assert.equal(past.body.total, total)
    assert.deepEqual(past.body.data, [])
    assert.equal((await ok(caller.get(links(past).prev!))).body.data.length, 1)
  }
})

const deep = service({
  name: 'Deep',
  versions: { v1: { released: '2025-06-01' } },
  resources: [
    resource('drops', {
      fields: { id: f.id(), size: f.int() },
      list: { filter: ['size'], sort: ['id'] },
      access: { read: 'drops:read', create: false, update: false, delete: false },
      events: [],
    }),
  ],
})

/** Asserts the rows of the page at an offset, in both directions. */
async function holds({ get }: TestApp, offset: number, last: number): Promise<void> {
  const expected = [0, 1, 2].map((n) => offset + n + 1).filter((id) => id <= last)
  const path = `/api/v1/drops?offset=${offset}&limit=3`
  assert.deepEqual(idsOf(await ok(get(path))), expected)
  const turned = await ok(get(`${path}&sort=-id`))
  assert.deepEqual(
    idsOf(turned),
    expected.map((id) => last - id + 1),
  )
}

eachService(
  'pages more than 100,000 rows from both ends are rejected',
  async (service) => {
    const total = 200_010
    const { app, get } = service
    await fill(app.db, 'drops', total, { size: '1' })
    for (const offset of [0, 1, 99_999, 100_000, 100_007, 100_008, 150_000, 200_007, 200_009]) {
      await holds(service, offset, total)
    }
    for (const offset of [100_001, 100_006]) {
      const path = `/api/v1/drops?offset=${offset}&limit=3`
      for (const query of [path, `${path}&sort=-id`]) {
        await refused(get(query), 'offset_too_large', 'offset')
      }
      assert.match((await get(path)).body.message, /cursor/)
    }
    for (const style of ['page', 'hypermedia']) {
      const middle = `/api/v1/drops?pagination=${style}&per_page=1&page=100003`
      await refused(get(middle), 'offset_too_large', 'page')
    }
    assert.equal(idsOf(await ok(get('/api/v1/drops?per_page=100&page=2001'))).length, 10)
    // A page past the end reads no rows, so it is accepted.
    assert.deepEqual((await ok(get('/api/v1/drops?offset=5000000'))).body.data, [])
  },
  { service: deep },
)
