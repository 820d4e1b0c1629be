/** The lag of the standbys of PostgreSQL, as the primary reports it. */
import type { Clock } from '../../kernel/clock.ts'
import type { Database, Reader } from './database.ts'
import { parseLogPosition } from './log-position.ts'
import { sql } from './sql.ts'

/**
 * Without `pg_monitor` the server hides the positions of other users, and there are no rows. A
 * standby that has replayed everything has no lag.
 */
const LAGS = sql`SELECT pid, application_name AS standby, replay_lsn::text AS replayed,
    pg_current_wal_lsn()::text AS current,
    CASE WHEN replay_lsn = pg_current_wal_lsn() THEN 0
      ELSE COALESCE(EXTRACT(EPOCH FROM replay_lag), 0) END AS lag_s
  FROM pg_stat_replication WHERE replay_lsn IS NOT NULL AND NOT pg_is_in_recovery()
  ORDER BY application_name LIMIT 100`

/** A position of the primary, and when it was current. */
interface StandbyTarget {
  readonly position: bigint
  readonly atMs: number
}

/**
 * Returns the function that reads the lag of each standby in seconds, by its name; a file has none.
 * The server repeats the last lag of a standby that is frozen or does not replay: its lag is at
 * least the age of a position that it had not replayed at an earlier reading, and still has not.
 */
export function createStandbyLags(
  db: Reader & Pick<Database, 'name'>,
  clock: Pick<Clock, 'elapsedMs'>,
): () => Promise<ReadonlyMap<string, number>> {
  /** By the process that serves a standby. */
  let targets = new Map<number, StandbyTarget>()
  return async () => {
    const lags = new Map<string, number>()
    if (db.name !== 'postgres') return lags
    const atMs = clock.elapsedMs()
    const next = new Map<number, StandbyTarget>()
    for (const { pid, standby, replayed, current, lag_s } of await db.all(LAGS)) {
      const former = targets.get(pid)
      const isBehind = former && parseLogPosition(replayed)! < former.position
      next.set(pid, isBehind ? former : { position: parseLogPosition(current)!, atMs })
      const lagS = Math.max(Number(lag_s), isBehind ? (atMs - former.atMs) / 1000 : 0)
      lags.set(String(standby), Math.max(lags.get(String(standby)) ?? 0, lagS))
    }
    targets = next
    return lags
  }
}
