/** The part of metrics: what the other parts count, behind one door (§12.1). */
import type { Identify } from '../access/authenticate.ts'
import type { After, Endpoint } from '../http/call.ts'
import {
  gauge,
  METRICS,
  metricsEndpoint,
  processMetrics,
  requestCounter,
} from '../system/metrics.ts'
import type { Ground, Part } from './ground.ts'

/** What a node answers that serves no API (§2.5): whether it lives, and what it counts. */
export const ofEveryNode = ({ kind, path }: Endpoint): boolean =>
  kind === 'probe' || path === METRICS

export function metricsPart(
  { clock, db, release = 'unknown' }: Ground,
  parts: readonly Part[],
  identify: Identify,
): Part & { readonly observe: After } {
  const requests = requestCounter(clock)
  const about = { release, database: db.name, startedAtMs: clock.now() }
  const metrics = [
    ...processMetrics(about),
    ...requests.metrics,
    gauge('gatehook_storage_queued', 'Transactions that wait or run.', () => db.queued()),
    ...parts.flatMap((part) => part.metrics ?? []),
  ]
  return { endpoints: [metricsEndpoint(identify, metrics)], observe: requests.observe }
}
