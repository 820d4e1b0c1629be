/** §7.9: counters store exact unfiltered totals; the page counts filtered totals. */
import assert from 'node:assert/strict'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { all, fillUsers, ok, run } from '../lists/rows.ts'

const users = '/api/v2/users'

const totalOf = async ({ get }: Pick<TestApp, 'get'>, path: string): Promise<number> => {
  const offset = (await ok(get(`${path}${path.includes('?') ? '&' : '?'}offset=0`))).body.total
  const paged = (await ok(get(`${path}${path.includes('?') ? '&' : '?'}page=1`))).body.total
  assert.equal(offset, paged)
  return offset
}

eachService(
  'totals are exact after concurrent creates, rejected creates and deletes',
  async (service) => {
    const replies = await Promise.all(
      Array.from({ length: 24 }, (_, n) =>
        service.post(users, { name: `n${n}`, email: `e${n % 20}@x.io` }),
      ),
    )
    const created = replies.filter((reply) => reply.status === 201)
    assert.equal(created.length, 20)
    assert.equal(await totalOf(service, users), 20)
    const gone = created.slice(0, 7).map((reply) => service.delete(reply.headers.location!))
    const alike = service.delete(created[0]!.headers.location!)
    const statuses = (await Promise.all([...gone, alike])).map((reply) => reply.status).sort()
    assert.deepEqual(statuses, [...Array(7).fill(204), 404])
    assert.equal(await totalOf(service, users), 13)
    const [{ n }] = (await all(service.app.db, 'SELECT count(*) AS n FROM users')) as [
      { n: number },
    ]
    assert.equal(n, 13)
  },
)

eachService('each customer and mode has its own total', async (service) => {
  await fillUsers(service.app.db, 5)
  const live = service.as(await service.key({ mode: 'live' }))
  assert.equal(await totalOf(live, users), 0)
  assert.equal((await live.post(users, { name: 'n', email: 'e@x.io' })).status, 201)
  assert.equal(await totalOf(live, users), 1)
  assert.equal(await totalOf(service, users), 5)
})

eachService(
  'the unfiltered total is read from a counter; a filtered total counts rows',
  async (service) => {
    const { app } = service
    await fillUsers(app.db, 5)
    await run(app.db, "UPDATE gh_counters SET total = 1000000 WHERE collection = 'users'")
    assert.equal(await totalOf(service, users), 1_000_000)
    assert.equal(await totalOf(service, `${users}?sort=-name`), 1_000_000)
    assert.equal(await totalOf(service, `${users}?id[gt]=2`), 3)
    assert.equal(await totalOf(service, `${users}?name[ne]=`), 5)
  },
)
