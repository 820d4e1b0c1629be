/** §6.4: `user_id` is a user of the same customer and mode; a user with orders stays. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService(
  'an unknown user is 422 at its pointer, on create and on change',
  async ({ post, patch, get }) => {
    const refused = await post('/api/v2/orders', { user_id: 77, amount: 5 })
    assert.equal(refused.status, 422)
    assert.deepEqual(
      [refused.body.errors[0].pointer, refused.body.errors[0].code],
      ['/user_id', 'not_found'],
    )
    const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
    const createReply = await post('/api/v2/orders', { user_id: user.id, amount: 5 })
    const moved = await patch(createReply.headers.location!, { user_id: 77 })
    assert.equal(moved.body.errors[0].pointer, '/user_id')
    assert.deepEqual((await get(createReply.headers.location!)).body, createReply.body)
  },
)

eachService('a user with orders cannot be deleted', async ({ post, get, ...all }) => {
  const user = await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
  await post('/api/v2/orders', { user_id: user.body.id, amount: 5 })
  const refused = await all.delete(user.headers.location!)
  assert.deepEqual([refused.status, refused.body.error], [409, 'conflict'])
  assert.equal((await get(user.headers.location!)).status, 200)
  const types = (await get('/events')).body.data.map((event: { type: string }) => event.type)
  assert.deepEqual(types, ['user.created', 'order.created'])
})

eachService(
  'concurrent deletion of a user and creation of its order leave no orphan',
  async (service) => {
    const { post, get } = service
    for (let round = 0; round < 10; round++) {
      const user = await post('/api/v2/users', { name: 'Ada', email: `a${round}@example.com` })
      const [order, deletion] = await Promise.all([
        post('/api/v2/orders', { user_id: user.body.id, amount: 5 }),
        service.delete(user.headers.location!),
      ])
      const outcome = `${order.status} ${deletion.status}`
      assert.ok(outcome === '201 409' || outcome === '422 204', outcome)
      assert.equal((await get(user.headers.location!)).status, order.status === 201 ? 200 : 404)
    }
  },
)
