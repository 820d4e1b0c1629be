/** §7.3: integers are `0|[1-9][0-9]*`, at most 2^53-1, without clamping or coercion. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { everyList, fillUsers, ok, refused } from '../lists/rows.ts'

const malformed = [
  ...['', '-1', '+1', '%2B1', '01', '00', '1.0', '1.5', '1e2', '0x10', '0b1', 'NaN', 'Infinity'],
  ...['%201', '1%20', '1%0A', '%D9%A1', '%EF%BC%91', '1,2', 'null', 'true', 'ten', '1_000'],
  ...['9007199254740992', '18446744073709551616', '9'.repeat(400)],
]

eachService('an invalid integer gives 400 with the parameter', async (service) => {
  const lists = await everyList(service)
  for (const name of ['limit', 'per_page', 'page', 'offset', 'after_id']) {
    for (const text of malformed) {
      for (const { path, caller } of name === 'limit' ? lists : lists.slice(0, 1)) {
        await refused(caller.get(`${path}?${name}=${text}`), 'invalid_parameter', name)
      }
    }
  }
})

eachService('limit and per_page are 1 to 100 and default to 20', async ({ app, get }) => {
  await fillUsers(app.db, 130)
  const rows = async (query: string) => (await ok(get(`/api/v2/users${query}`))).body.data.length
  for (const query of ['', '?offset=0', '?after_id=0', '?page=1', '?pagination=hypermedia']) {
    assert.equal(await rows(query), 20, query)
  }
  for (const size of [1, 99, 100]) {
    for (const query of ['limit', 'offset=0&limit', 'after_id=0&limit', 'per_page']) {
      assert.equal(await rows(`?${query}=${size}`), size)
    }
  }
  for (const size of ['0', '101', '1000000']) {
    await refused(get(`/api/v2/users?limit=${size}`), 'invalid_parameter', 'limit')
    await refused(get(`/api/v2/users?per_page=${size}`), 'invalid_parameter', 'per_page')
  }
})

eachService('the largest integer is accepted; the first page is 1', async ({ app, get }) => {
  await fillUsers(app.db, 3)
  const most = Number.MAX_SAFE_INTEGER
  for (const name of ['offset', 'after_id', 'page']) {
    assert.deepEqual((await ok(get(`/api/v2/users?${name}=${most}`))).body.data, [])
  }
  assert.equal((await ok(get('/api/v2/users?offset=0'))).body.data.length, 3)
  await refused(get('/api/v2/users?page=0'), 'invalid_parameter', 'page')
})
