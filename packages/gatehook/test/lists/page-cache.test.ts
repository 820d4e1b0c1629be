/** A cached page has the same bytes until the next commit, and never older rows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freshUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const LIST = '/api/v2/users?sort=-id&limit=5'

eachService('a repeated request returns the same page until a change', async (service) => {
  const { get, post, patch } = service
  const { body: ann } = await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
  const first = await get(LIST)
  const repeated = await get(LIST)
  assert.deepEqual([repeated.text, repeated.headers.etag], [first.text, first.headers.etag])
  assert.equal(repeated.headers.link, first.headers.link)
  const unchanged = await get(LIST, { 'if-none-match': first.headers.etag! })
  assert.deepEqual([unchanged.status, unchanged.text], [304, ''])
  assert.equal((await get(LIST)).text, first.text)

  await patch(`/api/v2/users/${ann.id}`, { name: 'Anna' })
  assert.equal((await get(LIST)).body.data[0].name, 'Anna')
  await post('/api/v2/users', { name: 'Ben', email: 'ben@example.com' })
  assert.deepEqual(
    (await get(LIST)).body.data.map(({ name }: { name: string }) => name),
    ['Ben', 'Anna'],
  )
})

eachService(
  'a cached page is not returned to another mode or version',
  async ({ post, get, as, key }) => {
    await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
    assert.equal((await get(LIST)).body.data.length, 1)
    const live = as(await key({ mode: 'live' }))
    assert.equal((await live.get(LIST)).body.data.length, 0)
    const v1 = await get(LIST.replace('v2', 'v1'))
    assert.match(v1.headers.link!, /\/api\/v1\/users/)
  },
)

test('a commit of another process is visible at once', async (t) => {
  const url = await freshUrl(t, 'sqlite')
  const { get, post } = await openService(t, 'sqlite', { url })
  await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
  await get(LIST)
  const other = await openForTest(t, url)
  await other.write((tx) => tx.run(sql`UPDATE users SET name = 'Anna'`))
  assert.equal((await get(LIST)).body.data[0].name, 'Anna')
})

eachService('queries with similar texts do not share a cached page', async ({ get }) => {
  assert.equal((await get('/api/v2/users?sort=-id&limit=5')).status, 200)
  assert.equal((await get('/api/v2/users?sort=-id%0Alimit%095')).status, 400)
  const walk = '/api/v2/users?limit=5&cursor='
  assert.equal((await get(`${walk}nonsense`)).status, 400)
  assert.equal((await get('/api/v2/users?limit=5')).status, 200)
  assert.equal((await get(`${walk}nonsense`)).status, 400)
  assert.equal((await get(`${walk}a&cursor=b`)).body.error, 'pagination_conflict')
})
