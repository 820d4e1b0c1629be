/**
 * §12.7: with a receiver of traces, one trace leads from a request by its transaction, its event
 * and the delivery to each attempt, across threads. Receivers of webhooks get `traceparent`.
 * Without a receiver of traces, nothing is recorded.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { openService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openOtlpReceiver, type ReceivedSpan } from '../telemetry/otlp-receiver.ts'
import { openHook } from '../webhooks/hook.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const MODE = { customer: 'default', mode: 'live' } as const

const childrenOf = (spans: readonly ReceivedSpan[], parent: ReceivedSpan) =>
  spans.filter(({ parentSpanId }) => parentSpanId === parent.spanId)

for (const { name } of databases) {
  test(`a request, its event and its delivery are one trace [${name}]`, async (t) => {
    const receiver = await openOtlpReceiver(t)
    const hook = await openHook(t)
    const service = await openService(t, name, {
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1',
        GATEHOOK_WEBHOOK_SCHEDULE_S: '0',
      },
    })
    const { app } = service
    const caller = service.as(await service.key({ ...MODE }))
    const created = await caller.post('/webhooks', { url: hook.url, events: ['user.created'] })
    assert.equal(created.status, 201, created.text)
    hook.answers = (type) => (hook.calls.length < 3 && type === 'user.created' ? 500 : 200)
    await app.work()
    const traceparent = `00-${TRACE}-${PARENT}-01`
    const input = { name: 'Ada', email: 'ada@example.com' }
    const reply = await caller.post('/api/v2/users', input, { traceparent })
    assert.equal(reply.status, 201, reply.text)
    assert.equal((await caller.get('/healthz', { traceparent })).status, 200)
    await hook.until(3) // the ping, an attempt that fails, one that succeeds
    await app.close()

    const spans = receiver.spans.filter(({ traceId }) => traceId === TRACE)
    const [request] = spans.filter(({ parentSpanId }) => parentSpanId === PARENT)
    assert.equal(request?.name, 'POST /api/users')
    assert.deepEqual([request.kind, request.service], [2, 'gatehook'])
    const { attributes } = request
    assert.equal(attributes['http.response.status_code'], 201)
    assert.equal(attributes['gatehook.customer'], 'cus_default')
    assert.equal(attributes['url.path'], '/api/v2/users')
    const transactions = childrenOf(spans, request)
    assert.deepEqual(transactions.map((span) => span.name).slice(0, 1), ['transaction'])
    const [event] = transactions.flatMap((span) => childrenOf(spans, span))
    assert.deepEqual([event?.name, event?.kind], ['event user.created', 4])
    const [delivery, ...others] = childrenOf(spans, event!)
    assert.equal(delivery?.name, 'delivery user.created')
    assert.deepEqual(others, [])
    assert.equal(delivery.attributes['gatehook.delivery.state'], 'delivered')
    const attempts = childrenOf(spans, delivery)
    assert.deepEqual(
      attempts.map((span) => [span.kind, span.attributes['http.response.status_code']]),
      [
        [3, 500],
        [3, 200],
      ],
    )
    assert.deepEqual(
      attempts.map(({ status }) => status),
      [2, 0],
      'the first attempt is an error',
    )
    const sent = hook.calls.slice(1).map(({ headers }) => headers.traceparent)
    assert.deepEqual(
      sent,
      attempts.map(({ spanId }) => `00-${TRACE}-${spanId}-01`),
    )
    assert.ok(!receiver.spans.some((span) => span.name.includes('healthz')), 'probes have no spans')
    assert.ok(receiver.paths.every((path) => path === 'POST /v1/traces application/json'))
  })

  test(`without a receiver, no context is stored or sent [${name}]`, async (t) => {
    const hook = await openHook(t)
    const env = { GATEHOOK_WEBHOOK_ALLOW_PRIVATE: '1' }
    const service = await openService(t, name, { env })
    const caller = service.as(await service.key({ ...MODE }))
    await caller.post('/webhooks', { url: hook.url, events: ['user.created'] })
    await service.app.work()
    const traceparent = `00-${TRACE}-${PARENT}-01`
    await caller.post('/api/v2/users', { name: 'A', email: 'a@example.com' }, { traceparent })
    await hook.until(2)
    assert.equal(hook.calls[1]!.headers.traceparent, undefined)
    const [row] = await service.app.db.all(
      sql`SELECT trace FROM gh_events WHERE type = 'user.created'`,
    )
    assert.equal(row!.trace, null)
  })
}

test('a malformed traceparent begins a new trace', async (t) => {
  const receiver = await openOtlpReceiver(t)
  const service = await openService(t, 'sqlite', {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
  })
  const zeros = '0'.repeat(32)
  for (const traceparent of ['x', `00-${zeros}-${PARENT}-01`, `ff-${TRACE}-${PARENT}-01`]) {
    assert.equal((await service.get('/api/v2/users', { traceparent })).status, 200)
  }
  await service.app.close()
  const requests = receiver.spans.filter(({ kind }) => kind === 2)
  assert.equal(requests.length, 3)
  assert.equal(new Set(requests.map(({ traceId }) => traceId)).size, 3)
  assert.ok(requests.every(({ traceId, parentSpanId }) => traceId !== TRACE && !parentSpanId))
})

test('a receiver that does not answer neither delays nor fails requests', async (t) => {
  const service = await openService(t, 'sqlite', {
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_TRACES_SAMPLER_ARG: '0.5' },
  })
  for (let n = 0; n < 20; n++) assert.equal((await service.get('/api/v2/users')).status, 200)
  await service.app.close()
})
