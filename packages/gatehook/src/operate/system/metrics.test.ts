import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { histogramSamples, type Metric } from '../../platform/telemetry/metric.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { metricsRoute, requestCounter } from './metrics.ts'

const text = async (metrics: readonly Metric[]): Promise<string> => {
  const { methods } = metricsRoute(
    () => undefined,
    metrics,
    { elapsedMs: () => 0 },
    () => {},
  )
  const call = { local: true, headers: {} } as Call
  return String(((await methods.GET!.handle(call)) as Answer).raw)
}

test('a histogram has cumulative buckets', async () => {
  const [name, type, help] = ['age_seconds', 'histogram', 'Of things.'] as const
  const read = () => histogramSamples(name, [0.1, 1], [2, 3, 1], 4.5, { kind: 'a' })
  assert.equal(
    await text([{ name, type, help, read }]),
    `# HELP age_seconds Of things.
# TYPE age_seconds histogram
age_seconds_bucket{kind="a",le="0.1"} 2
age_seconds_bucket{kind="a",le="1"} 5
age_seconds_bucket{kind="a",le="+Inf"} 6
age_seconds_sum{kind="a"} 4.5
age_seconds_count{kind="a"} 6
`,
  )
})

test('requests are counted by route, method and status, never by request data', async () => {
  let now = 0
  const { observe, metrics } = requestCounter({ elapsedMs: () => now })
  const observeCall = (call: Partial<Call>, status: number, tookMs: number) => {
    now += tookMs
    observe({ startedMs: now - tookMs, ...call } as Call, { status })
  }
  const operation = { handle: () => ({ status: 200 }) }
  observeCall({ method: 'GET', route: '/things/:id', path: '/things/1', operation }, 200, 3)
  observeCall({ method: 'GET', route: '/things/:id', path: '/things/2', operation }, 404, 700)
  observeCall({ method: 'GET', route: '/things/:id', path: '/things/3', operation }, 200, 60_000)
  observeCall({ method: 'BREW' as 'GET', route: '*', path: '/pot' }, 404, 1)
  observeCall({ method: 'STEEP' as 'GET', route: '*', path: '/tea' }, 404, 1)
  const lines = (await text(metrics)).split('\n')
  const counters = lines.filter((line) => line.startsWith('gatehook_http_requests_total'))
  assert.deepEqual(counters, [
    'gatehook_http_requests_total{method="GET",route="/things/:id",status="200"} 2',
    'gatehook_http_requests_total{method="GET",route="/things/:id",status="404"} 1',
    'gatehook_http_requests_total{method="other",route="*",status="404"} 2',
  ])
  const bucket = 'gatehook_http_request_duration_seconds_bucket{method="GET",route="/things/:id",'
  for (const rest of ['le="0.0025"} 0', 'le="0.005"} 1', 'le="1"} 2', 'le="+Inf"} 3']) {
    assert.ok(lines.includes(bucket + rest), rest)
  }
})

test('an accepted credential reads metrics for 15 minutes while no database answers', async () => {
  let now = 0
  let principal: Principal | undefined = {
    scopes: new Set(['metrics:read']),
  } as unknown as Principal
  let failure = new Failure('storage_unavailable')
  const identify = () => {
    if (!principal) throw failure
    return principal
  }
  const { methods } = metricsRoute(identify, [], { elapsedMs: () => now }, () => {})
  const scrape = async (key: string) => {
    const query = { entries: [] }
    const call = { local: false, headers: {}, rawHeaders: ['x-api-key', key], query } as unknown
    return ((await methods.GET!.handle(call as Call)) as Answer).status
  }
  const unavailable = { code: 'storage_unavailable' }
  assert.equal(await scrape('known'), 200)
  principal = undefined
  now = 15 * 60_000
  assert.equal(await scrape('known'), 200)
  await assert.rejects(scrape('unknown'), unavailable)
  now += 1
  await assert.rejects(scrape('known'), unavailable)
  now -= 1
  failure = new Failure('unauthorized')
  await assert.rejects(scrape('known'), { code: 'unauthorized' })
  failure = new Failure('storage_unavailable')
  await assert.rejects(scrape('known'), unavailable, 'a revoked credential')
})

test('a label is escaped', async () => {
  const read = () => [{ value: 1, labels: { name: 'a"b\\c\nd' } }]
  assert.match(
    await text([{ name: 'x', type: 'gauge', help: 'X.', read }]),
    /\nx\{name="a\\"b\\\\c\\nd"\} 1\n/,
  )
})
