/**
 * Keeps positions in the event feed valid when a PostgreSQL database moves to another server by
 * dump and restore: there, transaction ids begin anew, below those that are stored.
 */
import type { Row, Tx } from './database.ts'
import { sql } from './sql.ts'

/** Rows at the end of the feed that are read; concurrent transactions differ by far less. */
const LATEST_ROWS = 10_000
/** Ids that concurrent transactions of the old server may have been ahead of those rows. */
const MARGIN = 1_000_000

interface Positions extends Row {
  readonly newest: number | null
  readonly next: number
}

/**
 * Moves the epoch when stored positions are ahead of the server's next one, so that every new
 * event is behind all stored ones. Runs on PostgreSQL, in the transaction of the migrations.
 */
export async function alignTransactionEpoch(
  tx: Tx,
  ddl: (sql: string) => Promise<void>,
): Promise<void> {
  const row = await tx.get<Positions>(sql`SELECT
    (SELECT max(txid) FROM (
      (SELECT txid FROM gh_events ORDER BY position DESC LIMIT ${LATEST_ROWS})
      UNION ALL (SELECT txid FROM gh_revocations ORDER BY position DESC LIMIT ${LATEST_ROWS})
    ) AS latest) AS newest,
    CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS next`)
  const epoch = await tx.get(sql`SELECT gh_txid_epoch() AS epoch`)
  const next = Number(row!.next)
  if (row!.newest === null || row!.newest < next + Number(epoch!.epoch)) return
  const moved = Number(row!.newest) + MARGIN - next
  await ddl(`CREATE OR REPLACE FUNCTION gh_txid_epoch() RETURNS BIGINT
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT ${moved}::bigint'`)
}
