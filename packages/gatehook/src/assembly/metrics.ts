/** The part of metrics: what the other parts count, behind one door (§12.1). */
import type { Identify } from '../access/authenticate.ts'
import type { After } from '../http/call.ts'
import { gauge, metricsEndpoint, processMetrics, requestCounter } from '../system/metrics.ts'
import type { Ground, Part } from './ground.ts'

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
