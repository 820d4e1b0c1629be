/** Metrics of the readiness of a node: the answers of `/readyz`, and the checks that fail. */
import type { Clock } from '../../kernel/clock.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthChecks } from './health.ts'
import type { Readiness } from './readiness.ts'

/** The metrics of one scrape share the results of the checks. */
const VALID_MS = 1000

export function readinessMetrics(
  { checks: { read, write }, assess }: Pick<Readiness, 'checks' | 'assess'>,
  clock: Pick<Clock, 'elapsedMs'>,
): readonly Metric[] {
  let last: { readonly atMs: number; readonly failed: Promise<ReadonlySet<string>> } | undefined
  const run = async () => new Set((await assess('write')).map(({ check }) => check))
  const failedChecks = () => {
    const atMs = clock.elapsedMs()
    if (!last || atMs - last.atMs > VALID_MS) last = { atMs, failed: run() }
    return last.failed
  }
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
