/** The lag of the standbys of PostgreSQL, as a metric (§18.1). */
import type { Database, Reader } from '../../platform/storage/database.ts'
import { readStandbyLags } from '../../platform/storage/standby-lag.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'

export const replicationMetric = (db: Reader & Pick<Database, 'name'>): Metric => ({
  name: 'gatehook_replication_lag_seconds',
  help: 'How far a standby of PostgreSQL is behind; needs `pg_monitor`.',
  type: 'gauge',
  async read() {
    const lags = await readStandbyLags(db)
    return [...lags].map(([standby, value]) => ({ value, labels: { standby } }))
  },
})
