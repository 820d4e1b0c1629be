/** §9.11: through `POST /events` an existing backend sends its events. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const payment = { type: 'payment.succeeded', object: { id: 'pay_7', status: 'succeeded' } }

eachService('the response is the event as it is delivered', async ({ post, get }) => {
  const response = await post('/events', payment)
  assert.equal(response.status, 201)
  assert.deepEqual(Object.keys(response.body), ['id', 'type', 'created', 'livemode', 'data'])
  assert.deepEqual(response.body.data, { object: payment.object })
  assert.equal(response.headers.location, `/events/${response.body.id}`)
  assert.deepEqual((await get(response.headers.location!)).body, response.body)
})

eachService('an idempotent replay records one event', async ({ post, get }) => {
  const headers = { 'idempotency-key': 'payment-7' }
  const [first, second] = [
    await post('/events', payment, headers),
    await post('/events', payment, headers),
  ]
  assert.deepEqual(second.body, first.body)
  assert.equal(second.headers['idempotent-replayed'], 'true')
  assert.equal((await get('/events?pagination=page')).body.total, 1)
})

eachService(
  'undeclared types, invalid bodies and large objects are rejected',
  async ({ post, get }) => {
    const long = { ...payment, object: { id: 1, text: 'x'.repeat(262_144) } }
    const wrong: [unknown, number, string][] = [
      [{ ...payment, type: 'order.paid' }, 422, '/type'],
      [{ ...payment, type: 'webhook.disabled' }, 422, '/type'],
      [{ ...payment, type: '__proto__' }, 422, '/type'],
      [{ ...payment, type: ['payment.succeeded'] }, 422, '/type'],
      [{ type: payment.type }, 422, '/object'],
      [{ ...payment, object: [] }, 422, '/object'],
      [{ ...payment, object: 'text' }, 422, '/object'],
      [{ ...payment, id: 'evt_mine' }, 422, '/id'],
      [[payment], 422, ''],
      [long, 413, ''],
    ]
    for (const [body, status, pointer] of wrong) {
      const refused = await post('/events', body)
      assert.equal(refused.status, status, JSON.stringify(refused.body))
      if (status === 422) assert.equal(refused.body.errors[0].pointer, pointer)
    }
    assert.equal((await post('/events', '{"type":')).status, 400)
    assert.equal((await get('/events?pagination=page')).body.total, 0)
  },
)

eachService('posting an event requires events:write', async ({ as, key }) => {
  const reader = as(await key({ scopes: ['events:read'] }))
  assert.equal((await reader.post('/events', payment)).body.error, 'insufficient_scope')
})
