/** The lag of the standbys of PostgreSQL, as a metric (§18.1). */
import type { Clock } from '../../kernel/clock.ts'
import type { Database, Reader } from '../../platform/storage/database.ts'
import { createStandbyLags } from '../../platform/storage/standby-lag.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'

export function replicationMetric(
  db: Reader & Pick<Database, 'name'>,
  clock: Pick<Clock, 'elapsedMs'>,
): Metric {
  const readLags = createStandbyLags(db, clock)
  return {
    name: 'gatehook_replication_lag_seconds',
    help: 'How far a standby of PostgreSQL is behind; needs `pg_monitor`.',
    type: 'gauge',
    async read() {
      return [...(await readLags())].map(([standby, value]) => ({ value, labels: { standby } }))
    },
  }
}
