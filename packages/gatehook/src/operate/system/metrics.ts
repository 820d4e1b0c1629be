/**
 * `GET /metrics` for Prometheus (§12.1). Counting a request costs one lookup in a map; other values
 * are read when Prometheus requests them. Labels come from tables (routes, methods, statuses),
 * never from request data. Other modules provide their values as `Metric`s.
 */
import type { Registry } from 'prom-client'
import { METRICS_SCOPE } from '../../identity/access/administration.ts'
import type { Identify } from '../../identity/access/authenticate.ts'
import { parseCredential } from '../../identity/access/credential.ts'
import { holdsScope, missingScope } from '../../identity/access/scopes.ts'
import { BoundedMap } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { resolveWithin } from '../../kernel/resolve-within.ts'
import { sha256 } from '../../kernel/secret.ts'
import {
  gauge,
  histogramSamples,
  type Metric,
  type Sample,
} from '../../platform/telemetry/metric.ts'
import type { After, Call, Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { isProbe } from '../../protocol/http/probe.ts'
import { probeOperations } from './operations.ts'

const LATENCY_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

/** The counts of one method of one route. */
interface RequestCounts {
  readonly method: string
  readonly route: string
  readonly statuses: Map<number, number>
  readonly latency: number[]
  sumS: number
}

type CountsByRoute = Map<string, Map<string, RequestCounts>>

/**
 * Counts responses, those to probes apart: a rate of errors is one of callers (§18.9). The step
 * runs last in the pipeline, so that it sees the final status.
 */
export function requestCounter(clock: Pick<Clock, 'elapsedMs'>): {
  observe: After
  metrics: readonly Metric[]
} {
  // Nested, because building a joined key for each request costs more than the second lookup.
  const counts: CountsByRoute = new Map()
  const countsOf = ({ route, method: sentMethod, operation }: Call): RequestCounts => {
    // An undeclared method is request data, and would make the labels unbounded.
    const method = operation || sentMethod === 'OPTIONS' ? sentMethod : 'other'
    let methods = counts.get(route)
    if (!methods) counts.set(route, (methods = new Map()))
    let entry = methods.get(method)
    if (!entry) {
      const latency = new Array<number>(LATENCY_S.length + 1).fill(0)
      entry = { method, route, statuses: new Map(), latency, sumS: 0 }
      methods.set(method, entry)
    }
    return entry
  }
  const probes = new Map<
    string,
    { readonly route: string; readonly status: number; count: number }
  >()
  const countProbe = ({ route }: Call, status: number) => {
    const key = `${route} ${status}`
    let entry = probes.get(key)
    if (!entry) probes.set(key, (entry = { route, status, count: 0 }))
    entry.count++
  }
  const observe: After = (call, { status }) => {
    if (isProbe(call)) return countProbe(call, status)
    const entry = countsOf(call)
    const seconds = (clock.elapsedMs() - call.startedMs) / 1000
    entry.statuses.set(status, (entry.statuses.get(status) ?? 0) + 1)
    entry.sumS += seconds
    let bucket = 0
    while (seconds > (LATENCY_S[bucket] ?? Number.POSITIVE_INFINITY)) bucket++
    entry.latency[bucket]!++
  }
  const probeMetric: Metric = {
    name: 'gatehook_http_probes_total',
    help: 'Responses to probes and to Prometheus, by route and status.',
    type: 'counter',
    read: () =>
      [...probes.values()].map(({ route, status, count }) => ({
        value: count,
        labels: { route, status: String(status) },
      })),
  }
  return { observe, metrics: [...requestMetrics(counts), probeMetric] }
}

function requestMetrics(countsByRoute: CountsByRoute): readonly Metric[] {
  const allCounts = () => [...countsByRoute.values()].flatMap((methods) => [...methods.values()])
  const latency = 'gatehook_http_request_duration_seconds'
  return [
    {
      name: 'gatehook_http_requests_total',
      help: 'Responses without those to probes, by route, method and status.',
      type: 'counter',
      read: () =>
        allCounts().flatMap(({ method, route, statuses }) =>
          [...statuses].map(([status, value]) => ({
            value,
            labels: { method, route, status: String(status) },
          })),
        ),
    },
    {
      name: latency,
      help: 'Time from the head of a request to its response, by route and method.',
      type: 'histogram',
      read: () =>
        allCounts().flatMap(({ method, route, latency: counts, sumS }) =>
          histogramSamples(latency, LATENCY_S, counts, sumS, { method, route }),
        ),
    },
  ]
}

/** Returns metrics of the process, under the names that common dashboards use. */
export function processMetrics(build: {
  readonly release: string
  readonly database: string
  /** The name of the node (§18.10). */
  readonly nodeName: string
  readonly startedAtMs: number
}): readonly Metric[] {
  const { release, database, nodeName, startedAtMs } = build
  return [
    {
      name: 'gatehook_build_info',
      help: 'Always 1; the labels describe the build, and name the node.',
      type: 'gauge',
      read() {
        const labels = { version: release, node: process.version, database, node_name: nodeName }
        return [{ value: 1, labels }]
      },
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
    gauge('process_resident_memory_bytes', 'Resident memory, all threads.', () =>
      process.memoryUsage.rss(),
    ),
    gauge(
      'nodejs_heap_size_used_bytes',
      'Heap of the main thread in use.',
      () => process.memoryUsage().heapUsed,
    ),
    gauge(
      'nodejs_external_memory_bytes',
      'Memory of buffers and other objects outside the heap.',
      () => process.memoryUsage().external,
    ),
  ]
}

/** Creates the registry. The import is lazy: it would add 17 MB and 60 ms to every start. */
async function createRegistry(metrics: readonly Metric[]): Promise<Registry> {
  const { Registry } = await import('prom-client')
  const registry = new Registry()
  for (const metric of metrics) {
    const { name, help, type } = metric
    const get = async () => ({ name, help, type, values: await readSamples(metric) })
    // A registry reads only the name and `get`; the types of prom-client name its own classes.
    registry.registerMetric({ name, get } as never)
  }
  return registry
}

/** Prometheus waits for 10 s. */
const SAMPLES_MS = 2_000

/** A figure that cannot be read in time, while no database answers, leaves the others. */
async function readSamples(metric: Metric): Promise<readonly Sample[]> {
  try {
    const samples = (async () => metric.read())()
    return (await resolveWithin(SAMPLES_MS, samples)) ?? []
  } catch {
    return []
  }
}

/** The headers that a proxy adds. */
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip', 'via'] as const

/** The digest of the credential of a request, and of its session. */
function digestOfCredential({ rawHeaders, query, headers }: Call): string {
  const credentials = [parseCredential({ rawHeaders, query }), headers.cookie]
  return sha256(JSON.stringify(credentials)).toString('hex')
}

/** While the database does not answer, a credential stays accepted for this long. */
const ACCEPTED_FOR_MS = 15 * 60_000
const ACCEPTED_MAX = 32

/**
 * Serves metrics to this machine, and elsewhere to callers with `metrics:read`. A request that an
 * untrusted proxy on this machine forwards is recognized by the header that the proxy adds. A
 * credential that was accepted in the last quarter of an hour reads them during an outage of the
 * database, too: they name it (§18.1).
 */
export function metricsRoute(
  identify: Identify,
  metrics: readonly Metric[],
  clock: Pick<Clock, 'elapsedMs'>,
  onUse: (principal: Principal) => void,
): Route {
  let registry: Promise<Registry> | undefined
  /** When a credential was accepted last, by its digest. */
  const accepted = new BoundedMap<string, number>(ACCEPTED_MAX)
  const isAccepted = (digest: string): boolean =>
    clock.elapsedMs() - (accepted.get(digest) ?? Number.NEGATIVE_INFINITY) <= ACCEPTED_FOR_MS
  const authorize = async (call: Call): Promise<void> => {
    if (call.local && !FORWARDING_HEADERS.some((name) => call.headers[name] !== undefined)) return
    try {
      const principal = await identify(call)
      if (!principal) throw new Failure('unauthorized', undefined, { scope: METRICS_SCOPE })
      if (!holdsScope(principal, METRICS_SCOPE)) throw missingScope(METRICS_SCOPE)
      onUse(principal)
      accepted.set(digestOfCredential(call), clock.elapsedMs())
    } catch (error) {
      const digest = digestOfCredential(call)
      const isOutage = error instanceof Failure && error.code === 'storage_unavailable'
      if (isOutage && isAccepted(digest)) return
      if (!isOutage) accepted.delete(digest)
      throw error
    }
  }
  return implement(probeOperations.metrics, async (call) => {
    await authorize(call)
    registry ??= createRegistry(metrics)
    const { contentType } = await registry
    const headers = { 'content-type': contentType, 'cache-control': 'no-store' }
    return { status: 200, raw: await (await registry).metrics(), headers }
  })
}
