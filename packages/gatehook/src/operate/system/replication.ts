/** The lag of the standbys of PostgreSQL, as the primary reports it (§18.1). */
import type { Reader } from '../../platform/storage/database.ts'
import { sql } from '../../platform/storage/sql.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'

/**
 * Without `pg_monitor` the server hides the positions of other users, and there are no samples. A
 * standby that has replayed everything has no lag.
 */
const LAGS = sql`SELECT application_name AS standby,
    CASE WHEN replay_lsn = pg_current_wal_lsn() THEN 0
      ELSE COALESCE(EXTRACT(EPOCH FROM replay_lag), 0) END AS lag_s
  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL AND NOT pg_is_in_recovery()
  ORDER BY application_name LIMIT 100`

export const replicationMetric = (
  db: Reader & { readonly name: 'sqlite' | 'postgres' },
): Metric => ({
  name: 'gatehook_replication_lag_seconds',
  help: 'How far a standby of PostgreSQL is behind; needs `pg_monitor`.',
  type: 'gauge',
  async read() {
    if (db.name !== 'postgres') return []
    const lags = new Map<string, number>()
    for (const { standby, lag_s } of await db.all(LAGS)) {
      lags.set(String(standby), Math.max(lags.get(String(standby)) ?? 0, Number(lag_s)))
    }
    return [...lags].map(([standby, value]) => ({ value, labels: { standby } }))
  },
})
