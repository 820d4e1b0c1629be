/** §7.2: envelopes match the reference; `next_cursor`; `_links` in hypermedia style. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { everyList, fillUsers, idsOf, ok } from '../lists/rows.ts'

const body = async ({ get }: Pick<TestApp, 'get'>, query: string) =>
  (await ok(get(`/api/v2/users?fields=id&${query}`))).body

const items = (...ids: number[]) => ids.map((id) => ({ id }))

eachService('the envelopes of the offset and page styles', async (service) => {
  await fillUsers(service.app.db, 7)
  assert.deepEqual(await body(service, 'offset=3&limit=2'), {
    data: items(4, 5),
    offset: 3,
    limit: 2,
    total: 7,
  })
  assert.deepEqual(await body(service, 'page=3&per_page=3'), {
    data: items(7),
    page: 3,
    per_page: 3,
    total: 7,
    total_pages: 3,
  })
})

eachService('cursor style: has_more is `next != null`', async (service) => {
  await fillUsers(service.app.db, 3)
  const first = await body(service, 'limit=2')
  const { next } = first.cursors
  assert.equal(typeof next, 'string')
  assert.deepEqual(first, {
    data: items(1, 2),
    cursors: { next, prev: null },
    next_cursor: next,
    has_more: true,
  })
  const last = await body(service, `cursor=${next}&limit=2`)
  assert.deepEqual(last, {
    data: items(3),
    cursors: { next: null, prev: last.cursors.prev },
    next_cursor: null,
    has_more: false,
  })
  assert.equal(typeof last.cursors.prev, 'string')
  assert.equal((await body(service, 'limit=3')).has_more, false)
})

eachService('keyset style: an empty page echoes after_id', async (service) => {
  assert.deepEqual(await body(service, 'pagination=keyset'), {
    data: [],
    after_id: 0,
    has_more: false,
  })
  await fillUsers(service.app.db, 3)
  assert.deepEqual(await body(service, 'after_id=0&limit=2'), {
    data: items(1, 2),
    after_id: 2,
    has_more: true,
  })
  assert.deepEqual(await body(service, 'after_id=2&limit=1'), {
    data: items(3),
    after_id: 3,
    has_more: false,
  })
  assert.deepEqual(await body(service, 'after_id=9&limit=2'), {
    data: [],
    after_id: 9,
    has_more: false,
  })
})

eachService('hypermedia style: path-only links, counts, `_links` of items', async (service) => {
  await fillUsers(service.app.db, 5)
  const path = '/api/v2/users?pagination=hypermedia'
  const { body } = await ok(service.get(`${path}&page=2&per_page=2&fields=name`))
  const at = (page: number) => `${path}&fields=name&page=${page}&per_page=2`
  assert.deepEqual(body, {
    data: [3, 4].map((id) => ({
      name: `n${id}`,
      _links: { self: `/api/v2/users/${id}`, orders: `/api/v2/orders?user_id=${id}` },
    })),
    links: { self: at(2), first: at(1), prev: at(1), next: at(3), last: at(3) },
    meta: { total: 5, per_page: 2, current_page: 2, total_pages: 3, from: 3, to: 4 },
  })
  for (const item of body.data) {
    assert.equal((await ok(service.get(item._links.self))).body.name, item.name)
    assert.deepEqual((await ok(service.get(item._links.orders))).body.data, [])
  }
  const first = (await ok(service.get(`${path}&per_page=4`))).body
  assert.deepEqual(Object.keys(first.links), ['self', 'first', 'next', 'last'])
  const last = (await ok(service.get(first.links.next))).body
  assert.deepEqual(Object.keys(last.links), ['self', 'first', 'prev', 'last'])
  assert.deepEqual(last.meta, {
    total: 5,
    per_page: 4,
    current_page: 2,
    total_pages: 2,
    from: 5,
    to: 5,
  })
})

eachService('only hypermedia items carry `_links`, on every list path', async (service) => {
  for (const { path, caller } of await everyList(service)) {
    const plain = await ok(caller.get(path))
    for (const item of plain.body.data) assert.equal(item._links, undefined)
    const linked = await ok(caller.get(`${path}?pagination=hypermedia`))
    assert.deepEqual(idsOf(linked), idsOf(plain), path)
    for (const item of linked.body.data) {
      assert.equal(typeof item._links, 'object')
      const self = item._links.self
      if (self === undefined) continue
      const linkedItem = (await ok(caller.get(self))).body
      assert.equal(linkedItem.id, item.id)
    }
  }
})
