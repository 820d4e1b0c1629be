/** Metrics of the readiness of a node: the answers of `/readyz`, and the checks that fail. */
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthChecks } from './health.ts'
import type { Readiness } from './readiness.ts'

export function readinessMetrics({
  checks: { read, write },
  report,
}: Pick<Readiness, 'checks' | 'report'>): readonly Metric[] {
  const failedChecks = async () => new Set((await report()).map(({ check }) => check))
  return [
    {
      name: 'gatehook_ready',
      help: 'Whether the node is ready for reads, and for writes too, as `/readyz` says.',
      type: 'gauge',
      async read() {
        const failed = await failedChecks()
        const isReady = (checks: HealthChecks) =>
          Number(!Object.keys(checks).some((check) => failed.has(check)))
        return [
          { value: isReady(read), labels: { for: 'read' } },
          { value: isReady(write), labels: { for: 'write' } },
        ]
      },
    },
    {
      name: 'gatehook_check_failed',
      help: 'Whether a check of `/readyz` fails, by check.',
      type: 'gauge',
      async read() {
        const failed = await failedChecks()
        return Object.keys(write).map((check) => ({
          value: Number(failed.has(check)),
          labels: { check },
        }))
      },
    },
  ]
}
