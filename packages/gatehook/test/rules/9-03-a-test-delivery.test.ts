/** §9.3: a test is one attempt, now, of a sample event; it tells the health of nothing. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { LOCAL, openHook, register } from '../webhooks/hook.ts'

eachService(
  'the receiver gets a sample of the declaration, and the answer says what became of it',
  async ({ post, get }, t) => {
    const hook = await openHook(t)
    const { id } = (await register({ post }, hook, { events: ['order.created'] })).body
    const path = `/webhooks/${id}/test`
    const tested = await post(path, { event_type: 'order.paid' })
    assert.equal(tested.status, 200)
    const { event_id, delivery_id, duration_ms, ...rest } = tested.body
    assert.deepEqual(rest, { delivered: true, response_status: 200, error: null })
    assert.ok(Number.isInteger(duration_ms))
    const { event, headers } = hook.calls[1]!
    assert.deepEqual([event.id, event.type, event.livemode], [event_id, 'order.paid', false])
    assert.equal(event.data.object.status, 'paid')
    assert.equal(typeof event.data.object.amount, 'number')
    assert.deepEqual(
      [headers['gatehook-delivery'], headers['gatehook-attempt'], headers['webhook-id']],
      [delivery_id, '1', event_id],
    )
    const logged = (await get(`/deliveries/${delivery_id}`)).body
    assert.deepEqual([logged.state, logged.event_type], ['delivered', 'order.paid'])
    assert.equal(logged.attempts[0].response_body, 'seen')
    // Nothing happened, so no event is listed, and there is nothing to send again.
    assert.deepEqual((await get('/events')).body.data, [])
    const again = (await post(`/deliveries/${delivery_id}/resend`)).body
    assert.equal(again.error, 'invalid_state')
    assert.match(again.message, /test delivery: no event was recorded/)

    hook.answers = () => 503
    const failed = (await post(path, { event_type: 'payment.succeeded' })).body
    assert.deepEqual([failed.delivered, failed.response_status], [false, 503])
    assert.match(failed.error, /503/)
    await hook.close()
    const lost = (await post(path, { event_type: 'webhook.disabled' })).body
    assert.deepEqual([lost.delivered, lost.response_status], [false, null])
    assert.match(lost.error, /refused/)
    assert.equal((await get(`/webhooks/${id}`)).body.active, true)
  },
  LOCAL,
)

eachService(
  'unknown types and registrations are refused; ten a minute of each',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const [one, two] = [await register({ post }, hook), await register({ post }, hook)]
    const path = `/webhooks/${one.body.id}/test`
    for (const event_type of ['order.lost', 'order.*', '*', '', 7, null, 'constructor']) {
      const refused = await post(path, { event_type })
      assert.deepEqual([refused.status, refused.body.errors[0].pointer], [422, '/event_type'])
    }
    assert.equal((await post('/webhooks/wh_x/test', { event_type: 'order.paid' })).status, 404)
    const calls = Array.from({ length: 11 }, () => post(path, { event_type: 'order.paid' }))
    const statuses = (await Promise.all(calls)).map(({ status }) => status).sort()
    assert.deepEqual(statuses, [...Array(10).fill(200), 429])
    const refused = await post(path, { event_type: 'order.paid' })
    assert.ok(Number(refused.headers['retry-after']) > 0)
    const other = await post(`/webhooks/${two.body.id}/test`, { event_type: 'order.paid' })
    assert.equal(other.status, 200)
  },
  LOCAL,
)

eachService(
  'a repeat with the same key sends nothing again',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const { id } = (await register({ post }, hook)).body
    const headers = { 'idempotency-key': 'test-1' }
    const send = () => post(`/webhooks/${id}/test`, { event_type: 'order.paid' }, headers)
    const [first, second] = [await send(), await send()]
    assert.deepEqual(second.body, first.body)
    assert.equal(hook.calls.length, 2)
  },
  LOCAL,
)
