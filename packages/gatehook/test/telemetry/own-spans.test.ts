/** Spans of a handler, by `@opentelemetry/api`, are in the trace of the request. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trace } from '@opentelemetry/api'
import { openService } from '../../../../test/rig/service.ts'
import { service as declare, f } from '../../src/gatehook.ts'
import { openOtlpReceiver } from './otlp-receiver.ts'

const own = declare({
  name: 'Own',
  versions: { v1: { released: '2026-01-01' } },
  resources: [],
}).route({
  method: 'GET',
  path: '/report',
  scope: 'reports:read',
  summary: 'Returns a report.',
  output: { done: f.bool() },
  async handle() {
    await Promise.resolve()
    trace.getTracer('own').startSpan('compute the report').end()
    return { body: { done: true } }
  },
})

test('a span of a handler is a child of the request', async (t) => {
  const receiver = await openOtlpReceiver(t)
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
  const service = await openService(t, 'sqlite', { env, service: own })
  const reply = await service.get('/api/v1/report')
  assert.equal(reply.status, 200, reply.text)
  await service.app.close()
  const request = receiver.spans.find(({ name }) => name === 'GET /api/report')
  const computation = receiver.spans.find(({ name }) => name === 'compute the report')
  assert.ok(request && computation)
  assert.equal(computation.parentSpanId, request.spanId)
  assert.equal(computation.traceId, request.traceId)
})
