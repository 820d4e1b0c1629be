/** Assembles `/metrics` from the figures of all components (§12.1). */
import type { Identify } from '../identity/access/authenticate.ts'
import type { KeyVerifier } from '../identity/access/key-verifier.ts'
import { metricsRoute, processMetrics, requestCounter } from '../operate/system/metrics.ts'
import { probeOperations } from '../operate/system/operations.ts'
import { nodeNameOf } from '../platform/config/environment.ts'
import { gauge, type Metric } from '../platform/telemetry/metric.ts'
import type { After, Endpoint } from '../protocol/http/call.ts'
import type { Component, Foundation } from './foundation.ts'

/** Whether a node that does not serve the API serves the endpoint: probes and metrics (§2.5). */
export const isServedByEveryNode = ({ kind, path }: Endpoint): boolean =>
  kind === 'probe' || path === probeOperations.metrics.path

export function assembleMetrics(
  { config, clock, db, release = 'unknown' }: Foundation,
  components: readonly Component[],
  identify: Identify,
  keys: Pick<KeyVerifier, 'recordUse'>,
): Component & { readonly observe: After } {
  const requests = requestCounter(clock)
  const nodeName = nodeNameOf(config)
  const about = { release, database: db.name, nodeName, startedAtMs: clock.now() }
  const metrics = [
    ...processMetrics(about),
    ...requests.metrics,
    gauge('gatehook_storage_queued', 'Transactions that wait or run.', () => db.queued()),
    gauge(
      'gatehook_storage_connection_waits',
      'Transactions of the engine, and customers, that wait for a connection of others.',
      () => db.connectionWaits(),
    ),
    ...mergeByName(components.flatMap(({ metrics = [] }) => metrics)),
  ]
  return {
    routes: [metricsRoute(identify, metrics, clock, keys.recordUse)],
    observe: requests.observe,
  }
}

/** Joins metrics of several components, for example of lanes, that have one name. */
const mergeByName = (metrics: readonly Metric[]): Metric[] =>
  [...Map.groupBy(metrics, ({ name }) => name).values()].map((parts) => ({
    ...parts[0]!,
    read: async () => (await Promise.all(parts.map((part) => part.read()))).flat(),
  }))
