/** §6.2, RFC 7396: PATCH merges; `null` clears a nullable field and is 422 for any other. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('only the sent fields change; null clears', async ({ post, patch }) => {
  const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
  const createReply = await post('/api/v2/orders', { user_id: user.id, amount: 5, note: 'x' })
  const path = createReply.headers.location!
  const type = { 'content-type': 'application/merge-patch+json' }
  const cleared = await patch(path, { note: null }, type)
  assert.equal(cleared.status, 200)
  const { note, updated_at, ...rest } = cleared.body
  const { note: _before, updated_at: _updatedAt, ...before } = createReply.body
  assert.equal(note, null)
  assert.deepEqual(rest, before)
  for (const field of ['amount', 'currency', 'user_id']) {
    const refused = await patch(path, { [field]: null })
    assert.equal(refused.status, 422, field)
    assert.equal(refused.body.errors[0].pointer, `/${field}`)
  }
})

eachService('a patch without a change writes nothing and records no event', async (service) => {
  const { post, patch, get } = service
  const createReply = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  for (const body of [{}, { name: 'Ada' }]) {
    const same = await patch(createReply.headers.location!, body)
    assert.deepEqual([same.status, same.body], [200, createReply.body])
  }
  const types = (await get('/events')).body.data.map((event: { type: string }) => event.type)
  assert.deepEqual(types, ['user.created'])
})
