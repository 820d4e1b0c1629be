/** §9.10: the log has every delivery with its attempts; resend, recover and replay. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { breath } from '../../../../test/rig/eventually.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import { finishedLog, LOCAL, openHook, pay, register, replayed } from '../webhooks/hook.ts'

const QUICK = { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '1' } }
const start = '2020-01-01T00:00:00Z'

/** Opens a receiver, registers it and starts the engine. */
async function startSending(t: TestContext, service: TestApp) {
  const hook = await openHook(t)
  const registration = await register(service, hook)
  assert.equal(registration.status, 201, registration.text)
  await service.app.work()
  return { hook, id: registration.body.id as string }
}

eachService(
  'a delivery has every member, and the attempt its response',
  async (service, t) => {
    const { get } = service
    const { hook, id } = await startSending(t, service)
    const event = (await pay(service, 1)).body
    const [listed, ...others] = await finishedLog(service, id)
    assert.equal(others.length, 0)
    // List items carry no response bodies (§11.5).
    assert.equal(listed.attempts[0].response_body, null)
    const delivery = (await get(`/deliveries/${listed.id}`)).body
    const withoutBody = { ...delivery.attempts[0], response_body: null }
    assert.deepEqual({ ...delivery, attempts: [withoutBody] }, listed)
    const [attempt] = delivery.attempts
    const { id: deliveryId, created_at, attempts: _, ...rest } = delivery
    assert.deepEqual(rest, {
      event_id: event.id,
      event_type: 'payment.succeeded',
      webhook_id: id,
      state: 'delivered',
      next_attempt_at: null,
    })
    assert.match(deliveryId, /^dlv_[0-9A-Za-z]+$/)
    for (const time of [created_at, attempt.at]) assert.match(time, /^\d{4}-.*\.\d{3}Z$/)
    assert.deepEqual(Object.keys(attempt), [
      'n',
      'at',
      'status',
      'duration_ms',
      'error',
      'response_headers',
      'response_body',
    ])
    assert.deepEqual(
      [attempt.n, attempt.status, attempt.error, attempt.response_body],
      [1, 200, null, 'seen'],
    )
    assert.equal(attempt.response_headers['content-type'], 'text/plain')
    assert.deepEqual(hook.calls[1]!.event, event)
    assert.equal(hook.calls[1]!.headers['gatehook-delivery'], deliveryId)
  },
  LOCAL,
)

eachService(
  'the request of a delivery is what the receiver got, for callers that read the delivery',
  async (service, t) => {
    const { get, as, key } = service
    const { hook, id } = await startSending(t, service)
    await pay(service, 1)
    const [{ id: deliveryId }] = await finishedLog(service, id)
    const path = `/deliveries/${deliveryId}/request`
    const { status, body } = await get(path)
    const { headers, body: sentBody } = hook.calls[1]!
    assert.deepEqual([status, body.url, body.body], [200, hook.url, sentBody])
    assert.deepEqual([body.delivery_id, body.attempts.length], [deliveryId, 1])
    const sent = Object.entries(body.attempts[0].headers as Record<string, string>)
    assert.ok(sent.some(([name]) => name === 'Gatehook-Signature'))
    for (const [name, value] of sent) assert.equal(headers[name.toLowerCase()], value, name)
    const others = [
      as(await key({ mode: 'live' })), // the same customer, in another mode
      as(await key({ scopes: ['webhooks:read', 'orders:read'] })), // does not read the type
    ]
    for (const other of others) assert.equal((await other.get(path)).status, 404)
    assert.equal((await as(await key({ scopes: ['events:read'] })).get(path)).status, 403)
    assert.equal((await get('/deliveries/dlv_none/request')).status, 404)
  },
  QUICK,
)

eachService(
  'each attempt has the URL that it called, whatever the registration has now',
  async (service, t) => {
    const { get, patch, post } = service
    const { hook, id } = await startSending(t, service)
    hook.answers = (type) => (type === 'webhook.ping' ? 200 : 500)
    await pay(service, 1)
    await finishedLog(service, id)
    const other = await openHook(t)
    assert.equal((await patch(`/webhooks/${id}`, { url: other.url })).status, 200)
    const [{ id: deliveryId, attempts }] = await finishedLog(service, id)
    await post(`/deliveries/${deliveryId}/resend`)
    const [resent] = await finishedLog(service, id)
    assert.equal(resent.state, 'delivered')
    const urls = [...attempts.map(() => hook.url), other.url]
    const request = (await get(`/deliveries/${deliveryId}/request`)).body
    assert.deepEqual(
      request.attempts.map(({ url }: { url: string }) => url),
      urls,
    )
    assert.equal(request.url, other.url)
    const admin = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
    const recorded = (await admin.get(`/admin/deliveries/${deliveryId}`)).body.attempts
    assert.deepEqual(
      recorded.map(({ request_url }: { request_url: string }) => request_url),
      urls,
    )
  },
  QUICK,
)

eachService(
  'the log has every list style; paused is a state that filters accept',
  async (service, t) => {
    const { get, patch } = service
    const hook = await openHook(t)
    const { id } = (await register(service, hook)).body
    await patch(`/webhooks/${id}`, { active: false })
    for (const n of [1, 2, 3]) await pay(service, n)
    const path = `/webhooks/${id}/deliveries`
    for (const query of ['', '?offset=0', '?page=1', '?pagination=hypermedia', '?state=paused']) {
      const { data } = (await get(path + query)).body
      assert.deepEqual(
        data.map((delivery: { state: string }) => delivery.state),
        Array(3).fill('paused'),
        query,
      )
    }
    assert.deepEqual((await get(`${path}?state=pending`)).body.data, [])
    assert.equal((await get(`${path}?state[in]=paused,failed&pagination=page`)).body.total, 3)
    assert.equal((await get(`${path}?state=lost`)).body.error, 'invalid_parameter')
    assert.equal((await get(`${path}?after_id=0`)).body.error, 'invalid_parameter')
    const [first] = (await get(`${path}?limit=1`)).body.data
    const filtered = (await get(`${path}?event_id=${first.event_id}&fields=id,state`)).body.data
    assert.deepEqual(filtered, [{ id: first.id, state: 'paused' }])
    const linked = (await get(`${path}?pagination=hypermedia&per_page=1`)).body.data[0]
    assert.deepEqual(linked._links, {
      self: `/deliveries/${first.id}`,
      event: `/events/${first.event_id}`,
    })
    const cursor = (await get(`${path}?limit=1`)).body.next_cursor
    const other = (await register(service, hook)).body.id
    const refused = await get(`/webhooks/${other}/deliveries?limit=1&cursor=${cursor}`)
    assert.equal(refused.body.error, 'cursor_mismatch')
    assert.deepEqual((await get(`/webhooks/${other}/deliveries`)).body.data, [])
  },
  LOCAL,
)

eachService(
  'resend sends the same delivery again, at each request',
  async (service, t) => {
    const { get, post } = service
    const { hook, id } = await startSending(t, service)
    await pay(service, 1)
    const [delivery] = await finishedLog(service, id)
    const resent = await post(`/deliveries/${delivery.id}/resend`)
    assert.equal(resent.status, 202)
    assert.deepEqual([resent.body.id, resent.body.state], [delivery.id, 'pending'])
    await hook.until(3)
    const [after, ...others] = await finishedLog(service, id)
    assert.equal(others.length, 0)
    assert.deepEqual(
      after.attempts.map(({ n }: { n: number }) => n),
      [1, 2],
    )
    assert.equal(hook.calls[2]!.headers['gatehook-attempt'], '2')
    assert.equal(hook.calls[2]!.body, hook.calls[1]!.body)
    const headers = { 'idempotency-key': 'resend-1' }
    for (const _ of [1, 2]) {
      assert.equal((await post(`/deliveries/${delivery.id}/resend`, {}, headers)).status, 202)
    }
    await finishedLog(service, id)
    assert.equal(hook.calls.length, 4)
    assert.equal((await post(`/deliveries/${delivery.id}/resend`, { force: true })).status, 422)
    for (const path of ['/deliveries/dlv_x', '/deliveries/1', '/deliveries/%00']) {
      assert.ok([400, 404].includes((await get(path)).status))
      assert.ok([400, 404].includes((await post(`${path}/resend`)).status))
    }
  },
  LOCAL,
)

eachService(
  'concurrent resends of one delivery are all 202',
  async (service, t) => {
    const { id } = await startSending(t, service)
    await pay(service, 1)
    const [delivery] = await finishedLog(service, id)
    const resends = Array.from({ length: 8 }, () =>
      service.post(`/deliveries/${delivery.id}/resend`),
    )
    const statuses = (await Promise.all(resends)).map(({ status }) => status)
    assert.deepEqual(statuses, Array(8).fill(202))
  },
  LOCAL,
)

eachService(
  'resend makes a waiting delivery due at once, and its attempts continue to count',
  async (service, t) => {
    const { get, post } = service
    const { hook, id } = await startSending(t, service)
    hook.answers = () => 500
    await pay(service, 1)
    const afterOneAttempt = async () => {
      for (;;) {
        const [delivery] = (await get(`/webhooks/${id}/deliveries`)).body.data
        if (delivery.attempts.length === 1) return delivery
        await breath()
      }
    }
    const delivery = await afterOneAttempt()
    assert.equal(delivery.state, 'pending')
    assert.ok(Date.parse(delivery.next_attempt_at) > Date.now() + 60_000)
    hook.answers = () => 200
    const resent = await post(`/deliveries/${delivery.id}/resend`)
    assert.deepEqual([resent.status, resent.body.state], [202, 'pending'])
    const [after] = await finishedLog(service, id)
    assert.equal(after.state, 'delivered')
    assert.equal(hook.calls.at(-1)!.headers['gatehook-attempt'], '2')
  },
  { env: { ...LOCAL.env, GATEHOOK_WEBHOOK_SCHEDULE_S: '3600' } },
)

eachService(
  'recover resends failed and exhausted deliveries only',
  async (service, t) => {
    const { get, post } = service
    const { hook, id } = await startSending(t, service)
    await pay(service, 0)
    await finishedLog(service, id)
    hook.answers = () => 500
    for (const n of [1, 2]) await pay(service, n)
    const log = await finishedLog(service, id)
    assert.deepEqual(
      log.map((delivery) => delivery.state),
      ['delivered', 'exhausted', 'exhausted'],
    )
    hook.answers = () => 200
    const since = new Date(Date.now() + 3_600_000).toISOString()
    const ahead = await post(`/webhooks/${id}/recover`, { since })
    assert.deepEqual([ahead.status, ahead.body.errors[0].pointer], [422, '/since'])
    const headers = { 'idempotency-key': 'recover-1' }
    for (const _ of [1, 2]) {
      const recovered = await post(`/webhooks/${id}/recover`, { since: start }, headers)
      assert.deepEqual([recovered.status, recovered.body], [202, { count: 2 }])
    }
    const { replay } = await replayed(service, id)
    assert.deepEqual([replay.kind, replay.state, replay.done], ['recover', 'finished', 2])
    const after = await finishedLog(service, id)
    assert.deepEqual(
      after.map((delivery) => delivery.state),
      Array(3).fill('delivered'),
    )
    assert.deepEqual(
      after.map((delivery) => delivery.attempts.length),
      [1, 3, 3],
    )
    const none = await post(`/webhooks/${id}/recover`, { since: start })
    assert.deepEqual(none.body, { count: 0 })
    assert.equal((await get(`/webhooks/${id}`)).body.active, true)
  },
  QUICK,
)

eachService(
  'replay sends every matching event since, also from before the registration',
  async (service, t) => {
    const { post, patch } = service
    await pay(service, 0)
    await post('/api/v2/users', { name: 'Ada', email: 'ada@example.com' })
    const { hook, id } = await startSending(t, service)
    await pay(service, 1)
    await finishedLog(service, id)
    assert.equal(hook.calls.length, 2)
    const replay = async (body: unknown) => {
      const reply = await post(`/webhooks/${id}/replay`, body)
      assert.equal(reply.status, 202, reply.text)
      assert.equal((await replayed(service, id)).replay.done, reply.body.count)
      return reply.body.count
    }
    const event_types = ['user.*']
    assert.equal(await replay({ since: start, event_types }), 1)
    assert.equal(await replay({ since: new Date().toISOString() }), 0)
    await finishedLog(service, id)
    assert.equal(await replay({ since: start }), 3)
    const log = await finishedLog(service, id)
    assert.equal(hook.calls.length, 6)
    assert.deepEqual(log.map((delivery) => delivery.attempts.length).sort(), [1, 2, 2])
    assert.equal(new Set(log.map((delivery) => delivery.event_id)).size, 3)
    // Pending deliveries are not queued twice.
    await patch(`/webhooks/${id}`, { active: false })
    assert.equal(await replay({ since: start }), 3)
    assert.equal(await replay({ since: start }), 0)
    for (const body of [{}, { since: 'soon' }, { since: start, event_types: ['order.lost'] }]) {
      assert.equal((await post(`/webhooks/${id}/replay`, body)).status, 422)
    }
    assert.equal((await post('/webhooks/wh_x/replay', { since: start })).status, 404)
  },
  LOCAL,
)
