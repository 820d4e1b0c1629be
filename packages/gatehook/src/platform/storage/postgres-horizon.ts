/** SQL for open transactions; see `horizon`, `ownHorizon` and `commitOrder` of `Dialect`. */
import type { CommitOrder } from './commit-order.ts'
import type { Statement } from './database.ts'
import { prepareStatement, sql } from './sql.ts'

export const HORIZON = '(pg_snapshot_xmin(pg_current_snapshot())::text::bigint + gh_txid_epoch())'

/** SQL of whether a role can write rows of the engine's tables. */
export const isMember = (role: string) => `coalesce(pg_has_role(${role},
  (SELECT relowner FROM pg_class WHERE oid = to_regclass('gh_migrations')), 'MEMBER'), true)`

/**
 * The oldest transaction among the sessions of this database. Their ids have 32 bits: each is as
 * old as its distance from the end of the snapshot, and one beyond the end is newer. A session with
 * an id that this role may not see counts as the oldest transaction of the server. Transactions of
 * roles that are no members of the owner of the tables write no row of them, and do not count. A
 * standby knows no sessions of its primary: all transactions of its snapshot count there.
 */
function horizonOf(andIsCounted = ''): string {
  return `(SELECT MIN(CASE WHEN age < 2147483648 THEN ends - age ELSE ends END)
    + gh_txid_epoch()
  FROM (SELECT CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS ends,
    CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint) AS begins) AS s
  LEFT JOIN LATERAL (
    SELECT CASE WHEN backend_xid IS NULL THEN s.ends - s.begins
      ELSE (s.ends - CAST(CAST(backend_xid AS text) AS bigint)) & 4294967295 END AS age
    FROM pg_stat_activity WHERE datname = current_database()
      AND (backend_xid IS NOT NULL OR query = '<insufficient privilege>')
      AND ${isMember('usesysid')}${andIsCounted}
    UNION ALL
    SELECT (s.ends - CAST(CAST(transaction AS text) AS bigint)) & 4294967295
    FROM pg_prepared_xacts WHERE database = current_database()
      AND ${isMember('owner')}
    UNION ALL SELECT s.ends - s.begins WHERE pg_is_in_recovery()) AS own ON true)`
}

export const OWN_HORIZON = horizonOf()

/** The first key of advisory locks that mark transactions; the second one is a scope. */
const MARKS = 1_735_157_331
const SCOPES_MAX = 2 ** 31 - 1
const mark = prepareStatement(`SELECT pg_advisory_xact_lock_shared(${MARKS}, ?)`)

/** Returns the statement that marks a transaction whose events are of one scope, if it can. */
export const markOf = (scope: number | undefined): Statement | undefined =>
  scope === undefined || scope > SCOPES_MAX ? undefined : mark([scope])

/**
 * `OWN_HORIZON` without sessions that have the mark of another scope alone. A session can change
 * its transaction between the reads of the two views. That is no danger: the marked one was open
 * after the snapshot of this statement. So an earlier one has committed, for statements after this
 * one, and a later one has an id beyond the snapshot. A prepared transaction counts for all scopes.
 */
export const SCOPE_HORIZON = horizonOf(` AND coalesce((SELECT bool_or(CAST(objid AS BIGINT) = ?)
  FROM pg_locks AS mark WHERE mark.pid = pg_stat_activity.pid AND locktype = 'advisory'
  AND CAST(classid AS BIGINT) = ${MARKS} AND objsubid = 2 AND granted
  AND mark.database = (SELECT oid FROM pg_database WHERE datname = current_database())), true)`)

export const COMMIT_ORDER: CommitOrder = {
  columns: ['txid', 'position'],
  open: `(SELECT coalesce(array_agg(x::text::bigint + gh_txid_epoch()), '{}')::text
    FROM pg_snapshot_xip(pg_current_snapshot()) AS x)`,
  // The snapshot of a standby names no open transactions.
  isListed: `txid < (SELECT CASE WHEN pg_is_in_recovery() THEN ${HORIZON}
    ELSE ${Number.MAX_SAFE_INTEGER} END)`,
  isAnyOf: (column, ids) => sql`${column} = ANY (CAST(${ids} AS BIGINT[]))`,
}
