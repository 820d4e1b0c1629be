/**
 * `GET /metrics` for Prometheus (§12.1). What is counted while requests run costs a look into a
 * map; everything else is read when somebody asks. Labels come from tables (routes, methods,
 * statuses), never from what callers send. Other rooms give their figures as `Metric`s.
 */
import type { Registry } from 'prom-client'
import type { Identify } from '../access/authenticate.ts'
import type { After, Call, Route } from '../http/call.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'

export interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
  /** Where it is not the metric's own: `…_bucket`, `…_sum`, `…_count`. */
  readonly metricName?: string
}

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  /** Asked when the metrics are. */
  read(): readonly Sample[] | Promise<readonly Sample[]>
}

export const gauge = (name: string, help: string, read: () => number): Metric => ({
  name,
  help,
  type: 'gauge',
  read: () => [{ value: read() }],
})

/**
 * The samples of one histogram. `counts`: one per bound, each for itself, and one for what lies
 * beyond the last.
 */
export function histogramSamples(
  name: string,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let total = 0
  const buckets = counts.map((count, n) => {
    total += count
    const le = n < bounds.length ? String(bounds[n]) : '+Inf'
    return { value: total, labels: { ...labels, le }, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { value: sum, labels, metricName: `${name}_sum` },
    { value: total, labels, metricName: `${name}_count` },
  ]
}

const LATENCY_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** Of one method of one route. */
interface RequestFigures {
  readonly method: string
  readonly route: string
  readonly statuses: Map<number, number>
  readonly latency: number[]
  sumS: number
}

/** Counts answered requests. The step is the last on the way out, so that it sees what is sent. */
export function requestCounter(clock: Pick<Clock, 'elapsedMs'>): {
  observe: After
  metrics: readonly Metric[]
} {
  const figures = new Map<string, RequestFigures>()
  const figuresOf = (call: Call): RequestFigures => {
    // A method nobody declared is the caller's word, and anybody can think of many.
    const method = call.operation || call.method === 'OPTIONS' ? call.method : 'other'
    const key = `${method} ${call.route}`
    let one = figures.get(key)
    if (!one) {
      const latency = new Array<number>(LATENCY_S.length + 1).fill(0)
      one = { method, route: call.route, statuses: new Map(), latency, sumS: 0 }
      figures.set(key, one)
    }
    return one
  }
  const observe: After = (call, { status }) => {
    const one = figuresOf(call)
    const seconds = (clock.elapsedMs() - call.startedMs) / 1000
    one.statuses.set(status, (one.statuses.get(status) ?? 0) + 1)
    one.sumS += seconds
    let at = 0
    while (seconds > (LATENCY_S[at] ?? Number.POSITIVE_INFINITY)) at++
    one.latency[at]!++
  }
  return { observe, metrics: requestMetrics(figures) }
}

function requestMetrics(figures: ReadonlyMap<string, RequestFigures>): readonly Metric[] {
  const latency = 'gatehook_http_request_duration_seconds'
  return [
    {
      name: 'gatehook_http_requests_total',
      help: 'Requests answered, by route, method and status.',
      type: 'counter',
      read: () =>
        [...figures.values()].flatMap(({ method, route, statuses }) =>
          [...statuses].map(([status, value]) => ({
            value,
            labels: { method, route, status: String(status) },
          })),
        ),
    },
    {
      name: latency,
      help: 'From the head of a request to its answer, by route and method.',
      type: 'histogram',
      read: () =>
        [...figures.values()].flatMap(({ method, route, latency: counts, sumS }) =>
          histogramSamples(latency, LATENCY_S, counts, sumS, { method, route }),
        ),
    },
  ]
}

/** What every process has, under the names every dashboard knows. */
export function processMetrics(about: {
  readonly release: string
  readonly database: string
  readonly startedAtMs: number
}): readonly Metric[] {
  const { release, database, startedAtMs } = about
  return [
    {
      name: 'gatehook_build_info',
      help: 'Always 1; what runs stands in the labels.',
      type: 'gauge',
      read: () => [{ value: 1, labels: { version: release, node: process.version, database } }],
    },
    gauge('process_start_time_seconds', 'Unix time at which the process started.', () =>
      Math.round(startedAtMs / 1000),
    ),
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time used, all threads.',
      type: 'counter',
      read() {
        const { user, system } = process.cpuUsage()
        return [{ value: (user + system) / 1e6 }]
      },
    },
    gauge('process_resident_memory_bytes', 'Memory held, all threads.', () =>
      process.memoryUsage.rss(),
    ),
    gauge(
      'nodejs_heap_size_used_bytes',
      'Heap of the main thread in use.',
      () => process.memoryUsage().heapUsed,
    ),
    gauge(
      'nodejs_external_memory_bytes',
      'Buffers and what else lies outside the heap.',
      () => process.memoryUsage().external,
    ),
  ]
}

/** The library is loaded when somebody asks for metrics: 17 MB and 60 ms of a start otherwise. */
async function registryOf(metrics: readonly Metric[]): Promise<Registry> {
  const { Registry } = await import('prom-client')
  const registry = new Registry()
  for (const metric of metrics) {
    const { name, help, type } = metric
    const get = async () => ({ name, help, type, values: await metric.read() })
    // A registry asks a metric for its name and `get`; prom-client's types name its own kinds.
    registry.registerMetric({ name, get } as never)
  }
  return registry
}

/** The header by which whatever stands in between says that it does. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/**
 * Served to this machine, and elsewhere to whoever has the scope `admin`. A proxy on this machine
 * that was not named in `GATEHOOK_TRUST_PROXY` looks like this machine; the header it adds gives it
 * away.
 */
export const METRICS = '/metrics'

export function metricsRoute(identify: Identify, metrics: readonly Metric[]): Route {
  let made: Promise<Registry> | undefined
  const admit = async (call: Call): Promise<void> => {
    if (call.local && !FORWARDED.some((name) => call.headers[name] !== undefined)) return
    const principal = await identify(call)
    if (!principal) throw new Failure('unauthorized')
    if (!principal.scopes.has('admin')) {
      throw new Failure('insufficient_scope', 'The credential lacks the scope admin.')
    }
  }
  return {
    path: METRICS,
    methods: {
      GET: {
        produces: ['text/plain'],
        async handle(call) {
          await admit(call)
          made ??= registryOf(metrics)
          const registry = await made
          const headers = { 'content-type': registry.contentType, 'cache-control': 'no-store' }
          return { status: 200, raw: await registry.metrics(), headers }
        },
      },
    },
  }
}
