/** The lag of the standbys of PostgreSQL, as the primary reports it. */
import type { Database, Reader } from './database.ts'
import { sql } from './sql.ts'

/**
 * Without `pg_monitor` the server hides the positions of other users, and there are no rows. A
 * standby that has replayed everything has no lag.
 */
const LAGS = sql`SELECT application_name AS standby,
    CASE WHEN replay_lsn = pg_current_wal_lsn() THEN 0
      ELSE COALESCE(EXTRACT(EPOCH FROM replay_lag), 0) END AS lag_s
  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL AND NOT pg_is_in_recovery()
  ORDER BY application_name LIMIT 100`

/** Returns the lag of each standby in seconds, by its name; a file has none. */
export async function readStandbyLags(
  db: Reader & Pick<Database, 'name'>,
): Promise<ReadonlyMap<string, number>> {
  const lags = new Map<string, number>()
  if (db.name !== 'postgres') return lags
  for (const { standby, lag_s } of await db.all(LAGS)) {
    lags.set(String(standby), Math.max(lags.get(String(standby)) ?? 0, Number(lag_s)))
  }
  return lags
}
