/** §6.8: an id that was given is given to nobody again. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('the last row’s id does not come back', async ({ post, get, ...all }) => {
  const ids: number[] = []
  for (let n = 0; n < 3; n++) {
    const made = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    ids.push(made.body.id)
    assert.equal((await all.delete(made.headers.location!)).status, 204)
  }
  assert.ok(ids[0]! < ids[1]! && ids[1]! < ids[2]!, ids.join())
  assert.equal((await get(`/api/v2/users/${ids[0]}`)).status, 404)
})
