/** §6.4: actions change the state; in another state they are 409 with the possible states. */
import assert from 'node:assert/strict'
import { type Caller, eachService } from '../../../../test/rig/service.ts'

const actions = {
  pay: ['pending'],
  ship: ['paid'],
  deliver: ['shipped'],
  cancel: ['pending', 'paid'],
}
const stepsTo: Record<string, string[]> = {
  pending: [],
  paid: ['pay'],
  shipped: ['pay', 'ship'],
  delivered: ['pay', 'ship', 'deliver'],
  cancelled: ['cancel'],
}
const resultOf: Record<string, string> = {
  pay: 'paid',
  ship: 'shipped',
  deliver: 'delivered',
  cancel: 'cancelled',
}

const types = async ({ get }: Caller): Promise<string[]> =>
  (await get('/events?limit=100')).body.data.map((event: { type: string }) => event.type)

eachService('every action in every state', async (service) => {
  const { post, get } = service
  const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
  for (const [state, steps] of Object.entries(stepsTo)) {
    for (const [action, from] of Object.entries(actions)) {
      const { headers } = await post('/api/v2/orders', { user_id: user.id, amount: 5 })
      const path = headers.location!
      for (const step of steps) await post(`${path}/${step}`)
      const before = await types(service)
      const done = await post(`${path}/${action}`)
      if (from.includes(state)) {
        assert.deepEqual([done.status, done.body.status], [200, resultOf[action]])
        assert.deepEqual(await types(service), [...before, `order.${resultOf[action]}`])
      } else {
        assert.deepEqual(
          [done.status, done.body.error],
          [409, 'invalid_state'],
          `${action} ${state}`,
        )
        for (const name of from) assert.match(done.body.message, new RegExp(`\\b${name}\\b`))
        assert.equal((await get(path)).body.status, state)
        assert.deepEqual(await types(service), before)
      }
    }
  }
})

eachService('cancelling accepts a reason', async ({ post }) => {
  const user = (await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })).body
  const order = async () =>
    (await post('/api/v2/orders', { user_id: user.id, amount: 5, note: 'n' })).headers.location!
  assert.equal((await post(`${await order()}/cancel`, { reason: 'late' })).body.note, 'late')
  assert.equal((await post(`${await order()}/cancel`)).body.note, 'n')
  const refused = await post(`${await order()}/cancel`, { reason: 5, why: 1 })
  assert.deepEqual(refused.body.errors.map((error: { pointer: string }) => error.pointer).sort(), [
    '/reason',
    '/why',
  ])
})
