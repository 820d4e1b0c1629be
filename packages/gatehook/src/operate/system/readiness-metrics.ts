/** Metrics of the readiness of a node: the answers of `/readyz`, and the checks that fail. */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import { type HealthChecks, listUnreadyReasons } from './health.ts'

/** The metrics of one scrape share the results of the checks. */
const VALID_MS = 1000

interface ReadinessSources {
  readonly read: HealthChecks
  /** Includes the checks of reads. */
  readonly write: HealthChecks
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

export function readinessMetrics(sources: ReadinessSources): readonly Metric[] {
  const { read, write, clock, log } = sources
  let last: { readonly atMs: number; readonly failed: Promise<ReadonlySet<string>> } | undefined
  const run = async () =>
    new Set((await listUnreadyReasons(write, log)).map(({ check }) => check) as readonly string[])
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
