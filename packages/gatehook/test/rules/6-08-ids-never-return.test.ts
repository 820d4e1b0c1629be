/** §6.8: ids are never reused. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('the id of the deleted last row is not reused', async ({ post, get, ...all }) => {
  const ids: number[] = []
  for (let n = 0; n < 3; n++) {
    const createReply = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    ids.push(createReply.body.id)
    assert.equal((await all.delete(createReply.headers.location!)).status, 204)
  }
  assert.ok(ids[0]! < ids[1]! && ids[1]! < ids[2]!, ids.join())
  assert.equal((await get(`/api/v2/users/${ids[0]}`)).status, 404)
})
