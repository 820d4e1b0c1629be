/** The waits of commits of PostgreSQL: for synchronous standbys, and by a setting. */
import type { Database, Value } from './database.ts'
import { raw, type Sql } from './sql.ts'

export interface CommitWaits {
  /** Commits that wait for a standby, and the time of the oldest. */
  readonly waiting: number
  readonly waitedMs: number
  /** `commit_delay`. */
  readonly delayMs: number
  /** The synchronous standby with the longest lag; its name needs `pg_monitor`. */
  readonly standby: string | null
  /** From a commit on the primary until this standby has stored it. */
  readonly lagMs: number
}

const msOf = (interval: string): string =>
  `COALESCE(round(extract(epoch FROM ${interval}) * 1000), 0)`

/** Null on a standby. */
const COMMIT_WAITS = raw(`CASE WHEN pg_is_in_recovery() THEN NULL ELSE (SELECT json_build_object(
    'waiting', waiting, 'waitedMs', waited, 'standby', standby, 'lagMs', COALESCE(lag, 0),
    'delayMs', current_setting('commit_delay')::int / 1000)::text
  FROM (SELECT count(*) AS waiting, ${msOf('max(clock_timestamp() - query_start)')} AS waited
    FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep') AS w
  LEFT JOIN (SELECT application_name AS standby, ${msOf('GREATEST(write_lag, flush_lag)')} AS lag
    FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')
    ORDER BY lag DESC LIMIT 1) AS s ON true) END`)

/** SQL for `parseCommitWaits`; undefined for a file. */
export const selectCommitWaits = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? COMMIT_WAITS : undefined

export const parseCommitWaits = (value: Value): CommitWaits | undefined =>
  value === null ? undefined : JSON.parse(String(value))
