/** §9.3: a test delivery is one immediate attempt; unless requested, it affects no health. */
import assert from 'node:assert/strict'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { post as threeVersions } from '../fixtures/three-versions.ts'
import { LOCAL, openHook, pay, register } from '../webhooks/hook.ts'

eachService(
  'the receiver gets the declared sample, and the response describes the attempt',
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
    // No event is recorded, so no list has it and nothing can be resent.
    assert.deepEqual((await get('/events')).body.data, [])
    const refused = (await post(`/deliveries/${delivery_id}/resend`)).body
    assert.equal(refused.error, 'invalid_state')
    assert.match(refused.message, /test delivery: no event was recorded/)

    hook.answers = () => 503
    const failed = (await post(path, { event_type: 'payment.succeeded' })).body
    assert.deepEqual([failed.delivered, failed.response_status], [false, 503])
    assert.match(failed.error, /503/)
    await hook.close()
    const unreachable = (await post(path, { event_type: 'webhook.disabled' })).body
    assert.deepEqual([unreachable.delivered, unreachable.response_status], [false, null])
    assert.match(unreachable.error, /refused/)
    assert.equal((await get(`/webhooks/${id}`)).body.active, true)
  },
  LOCAL,
)

eachService(
  'with resume_deliveries, a success makes the waiting deliveries due; a failure does not',
  async (service, t) => {
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    hook.answers = () => 500
    await service.app.work()
    await pay(service, 1)
    await hook.until(2)
    const admin = service.as(
      await service.key({ customer: 'default', mode: 'live', scopes: ['admin'] }),
    )
    const failsSince = async () => (await admin.get(`/admin/webhooks/${id}/health`)).body.since
    while ((await failsSince()) === null) await breath()
    const test = (more: object) =>
      service.post(`/webhooks/${id}/test`, { event_type: 'order.paid', ...more })
    assert.equal((await test({ resume_deliveries: true })).body.delivered, false)
    assert.notEqual(await failsSince(), null)
    hook.answers = () => 200
    assert.equal((await test({})).body.delivered, true)
    assert.notEqual(await failsSince(), null, 'by default a test does not affect the health')
    const before = hook.calls.length
    assert.equal((await test({ resume_deliveries: true })).body.delivered, true)
    assert.equal(await failsSince(), null)
    await hook.until(before + 2)
    assert.equal(hook.calls.at(-1)!.event.id, hook.calls[1]!.event.id)
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '86400' } },
)

eachService(
  'unknown types are 422, unknown registrations 404; the limit is 10 a minute',
  async ({ post }, t) => {
    const hook = await openHook(t)
    const [first, second] = [await register({ post }, hook), await register({ post }, hook)]
    const path = `/webhooks/${first.body.id}/test`
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
    const other = await post(`/webhooks/${second.body.id}/test`, { event_type: 'order.paid' })
    assert.equal(other.status, 200)
  },
  LOCAL,
)

eachService(
  'an idempotent replay sends no second delivery',
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

eachService(
  'a test in another version leaves the registration in its own',
  async ({ post, get }, t) => {
    const hook = await openHook(t)
    const { id } = (await register({ post }, hook, { api_version: 'v1' })).body
    const path = `/webhooks/${id}/test`
    const objectOf = async (body: object) => {
      assert.equal((await post(path, { event_type: 'client.created', ...body })).status, 200)
      return hook.calls.at(-1)!.event.data.object
    }
    const [older, newest] = [await objectOf({}), await objectOf({ api_version: 'v3' })]
    assert.deepEqual(['name' in older, 'name' in newest], [true, false])
    assert.equal((await objectOf({ api_version: 'v1' })).name, older.name)
    assert.equal((await get(`/webhooks/${id}`)).body.api_version, 'v1')
    const refused = await post(path, { event_type: 'client.created', api_version: 'v9' })
    assert.deepEqual([refused.status, refused.body.errors[0].pointer], [422, '/api_version'])
  },
  { ...LOCAL, service: threeVersions, seed: false },
)
