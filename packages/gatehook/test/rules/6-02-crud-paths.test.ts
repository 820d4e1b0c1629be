/** §6.2: each resource has its paths; a 201 has `Location`; unknown members are rejected. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService(
  'a user is created, read, patched and deleted',
  async ({ post, get, patch, ...all }) => {
    const createReply = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    assert.equal(createReply.status, 201)
    assert.equal(createReply.headers.location, `/api/v2/users/${createReply.body.id}`)
    const path = createReply.headers.location!
    assert.deepEqual((await get(path)).body, createReply.body)
    const patched = await patch(path, { name: 'Ada L.' })
    assert.deepEqual(patched.body, { ...createReply.body, name: 'Ada L.' })
    assert.equal((await all.delete(path)).status, 204)
    assert.equal((await get(path)).status, 404)
  },
)

eachService('an unknown member is 422 with its pointer', async ({ post, get }) => {
  const body = { name: 'Ada', email: 'ada@example.com', nickname: 'A' }
  const refused = await post('/api/v2/users', body)
  assert.equal(refused.status, 422)
  assert.deepEqual(
    refused.body.errors.map((error: { pointer: string }) => error.pointer),
    ['/nickname'],
  )
  assert.equal((await get('/api/v2/users')).body.data.length, 0)
  assert.equal((await get('/events')).body.data.length, 0)
})
