/**
 * Keeps positions in the event feed valid when a PostgreSQL database moves to another server by
 * dump and restore. There, transaction ids start again at a lower number than the stored ones.
 */
import type { Row, Tx } from './database.ts'
import { sql } from './sql.ts'

/** Newest rows that are read; the ids of concurrent transactions differ by far less. */
const LATEST_ROWS = 10_000
/** Margin for ids of concurrent transactions on the old server that exceed those rows. */
const MARGIN = 1_000_000

interface Positions extends Row {
  readonly newest: number | null
  readonly next: number
}

/**
 * Raises the epoch when stored transaction ids exceed the server's next one, so that every new
 * event follows all stored events. Runs on PostgreSQL, in the transaction of the migrations.
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
  const newEpoch = Number(row!.newest) + MARGIN - next
  await ddl(`CREATE OR REPLACE FUNCTION gh_txid_epoch() RETURNS BIGINT
    LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT ${newEpoch}::bigint'`)
}
