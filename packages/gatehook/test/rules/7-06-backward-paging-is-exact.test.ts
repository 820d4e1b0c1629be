/** §7.6: next and prev are inverse; a walk returns each row once despite inserts and deletes. */
import assert from 'node:assert/strict'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { fill, fillUsers, follow, idsOf, links, ok, run } from '../lists/rows.ts'

const users = '/api/v2/users'

const data = (pages: readonly Reply[]) => pages.map((page) => page.body.data)

eachService('a walk to the end and back returns the same pages', async ({ app, get }) => {
  await fillUsers(app.db, 23, 'n % 3')
  for (const sort of ['id', '-id', 'created_at', '-created_at', '-created_at,id', 'name']) {
    for (const limit of [1, 4, 5, 23, 50]) {
      const forth = await follow({ get }, `${users}?sort=${sort}&limit=${limit}`)
      assert.equal(forth.length, Math.ceil(23 / limit))
      const back = await follow({ get }, links(forth.at(-1)!).prev ?? users, 'prev')
      if (forth.length > 1) assert.deepEqual(data(back).reverse(), data(forth.slice(0, -1)))
      const seen = forth.flatMap(idsOf)
      assert.equal(new Set(seen).size, 23)
      // Follows next from the page that prev returned.
      if (forth.length > 2) {
        const second = await ok(get(links(forth[2]!).prev!))
        assert.deepEqual(second.body.data, forth[1]!.body.data)
        const third = await ok(get(links(second).next!))
        assert.deepEqual(third.body.data, forth[2]!.body.data)
        const first = await ok(get(links(second).prev!))
        assert.deepEqual(first.body.data, forth[0]!.body.data)
        assert.equal(links(first).prev, undefined)
      }
    }
  }
})

eachService('a walk continues after its anchor is deleted', async ({ app, get }) => {
  await fillUsers(app.db, 9, '7')
  const first = await ok(get(`${users}?sort=-created_at&limit=3`))
  assert.deepEqual(idsOf(first), [9, 8, 7])
  await run(app.db, 'DELETE FROM users WHERE id IN (7, 6)')
  const second = await ok(get(links(first).next!))
  assert.deepEqual(idsOf(second), [5, 4, 3])
  await run(app.db, 'DELETE FROM users WHERE id = 5')
  assert.deepEqual(idsOf(await ok(get(links(second).prev!))), [9, 8])
  assert.deepEqual(idsOf(await ok(get(`${users}?after_id=5&limit=2`))), [8, 9])
})

eachService('an emptied page links back to its neighbour', async ({ app, get }) => {
  await fillUsers(app.db, 6)
  const first = await ok(get(`${users}?limit=3`))
  const second = await ok(get(links(first).next!))
  await run(app.db, 'DELETE FROM users WHERE id > 3')
  const emptied = await ok(get(links(first).next!))
  assert.deepEqual(emptied.body.data, [])
  assert.equal(emptied.body.has_more, false)
  assert.equal(links(emptied).next, undefined)
  const back = await ok(get(links(emptied).prev!))
  assert.deepEqual(back.body.data, first.body.data)
  // The other direction: the rows before the second page are deleted.
  await run(app.db, 'DELETE FROM users')
  const nothing = await ok(get(links(second).prev!))
  assert.deepEqual(nothing.body.data, [])
  assert.deepEqual(nothing.body.cursors, { next: null, prev: null })
})

eachService(
  'after the rows before a page are deleted, its prev is empty and links back',
  async (service) => {
    const { app, get } = service
    await fillUsers(app.db, 6)
    const second = await ok(get(links(await ok(get(`${users}?limit=3`))).next!))
    await run(app.db, 'DELETE FROM users WHERE id <= 3')
    const emptied = await ok(get(links(second).prev!))
    assert.deepEqual(emptied.body.data, [])
    assert.equal(emptied.body.has_more, true)
    assert.equal(links(emptied).prev, undefined)
    assert.deepEqual((await ok(get(links(emptied).next!))).body.data, second.body.data)
  },
)

eachService('with inserts and deletes, each remaining row is returned once', async (service) => {
  const { app, get, post } = service
  await fillUsers(app.db, 30, 'n % 4')
  for (const query of ['sort=-created_at', 'sort=name', 'sort=-created_at,id', 'after_id=0']) {
    const seen: (number | string)[] = []
    const before = idsOf(await ok(get(`${users}?limit=100`)))
    let at: string | undefined = `${users}?${query}&limit=4`
    for (let n = 0; at !== undefined; n++) {
      const page: Reply = await ok(get(at))
      seen.push(...idsOf(page))
      at = links(page).next
      if (n > 3) continue
      const name = `n${query}${n}`
      const reply = await post(users, { name, email: `${encodeURIComponent(name)}@x.io` })
      assert.equal(reply.status, 201, reply.text)
      const gone = idsOf(page)[n % 4]!
      assert.equal((await service.delete(`${users}/${gone}`)).status, 204)
    }
    const still = new Set(idsOf(await ok(get(`${users}?limit=100`))))
    const throughout = before.filter((id) => still.has(id))
    assert.equal(new Set(seen).size, seen.length, `${query}: a row was seen twice`)
    for (const id of throughout) assert.ok(seen.includes(id), `${query}: row ${id} was not seen`)
  }
})

eachService('NULLs sort last', async ({ app, get }) => {
  await fillUsers(app.db, 1)
  await fill(app.db, 'orders', 9, {
    user_id: '1',
    status: "'paid'",
    amount: 'n',
    currency: "'EUR'",
    note: "CASE WHEN n % 3 = 0 THEN NULL WHEN n % 3 = 1 THEN '' ELSE 'z' END",
    created_at: '1',
    updated_at: '1',
  })
  const order = async (sort: string, limit: number) =>
    (await follow({ get }, `/api/v2/orders?sort=${sort}&limit=${limit}`)).flatMap(idsOf)
  for (const limit of [1, 2, 9]) {
    assert.deepEqual(await order('note', limit), [1, 4, 7, 2, 5, 8, 3, 6, 9])
    assert.deepEqual(await order('-note', limit), [9, 6, 3, 8, 5, 2, 7, 4, 1])
    assert.deepEqual(await order('note,-id', limit), [7, 4, 1, 8, 5, 2, 9, 6, 3])
    assert.deepEqual(await order('-note,id', limit), [3, 6, 9, 2, 5, 8, 1, 4, 7])
    assert.deepEqual(await order('-created_at,note', limit), [1, 4, 7, 2, 5, 8, 3, 6, 9])
    assert.deepEqual(await order('created_at,-note', limit), [9, 6, 3, 8, 5, 2, 7, 4, 1])
  }
})
