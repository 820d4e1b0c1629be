/**
 * Keeps positions in the event feed valid when a PostgreSQL database moves to another server by
 * dump and restore. There, transaction ids start again at a lower number than the stored ones.
 */
import type { Row, Tx } from './database.ts'
import { join, raw, sql } from './sql.ts'
import type { Table } from './table.ts'

/** Newest rows that are read; the ids of concurrent transactions differ by far less. */
const LATEST_ROWS = 10_000
/** Margin for ids of concurrent transactions on the old server that exceed those rows. */
const MARGIN = 1_000_000

interface Positions extends Row {
  readonly newest: number | null
  readonly next: number
}

/** The tables whose rows have the transaction that wrote them. */
const tablesWithIds = (tables: readonly Table[]): readonly Table[] =>
  tables.filter(({ columns }) => columns.txid?.kind === 'txid')

/**
 * Raises the epoch when stored transaction ids exceed the server's next one, so that every new
 * event follows all stored events. Runs on PostgreSQL, in the transaction of the migrations.
 */
export async function alignTransactionEpoch(
  tx: Tx,
  tables: readonly Table[],
  ddl: (sql: string) => Promise<void>,
): Promise<void> {
  const latest = tablesWithIds(tables).map(
    ({ name }) => sql`(SELECT txid FROM ${raw(name)} ORDER BY position DESC LIMIT ${LATEST_ROWS})`,
  )
  const row = await tx.get<Positions>(sql`SELECT
    (SELECT max(txid) FROM (${join(latest, ' UNION ALL ')}) AS latest) AS newest,
    CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint) AS next`)
  const epoch = await tx.get(sql`SELECT gh_txid_epoch() AS epoch`)
  const next = Number(row!.next)
  if (row!.newest === null || row!.newest < next + Number(epoch!.epoch)) return
  await ddl(replaceEpoch(Number(row!.newest) + MARGIN - next))
}

/** Returns the statement that replaces the epoch. */
export const replaceEpoch = (epoch: number): string => `CREATE OR REPLACE FUNCTION gh_txid_epoch()
  RETURNS BIGINT LANGUAGE sql IMMUTABLE PARALLEL SAFE AS 'SELECT ${epoch}::bigint'`

/**
 * Like `alignTransactionEpoch`, where each server has the transaction ids of its shards: a shard
 * can move to a server whose next id is lower.
 */
export async function alignEpochOfServers(
  tx: Tx,
  tables: readonly Table[],
  ddl: (sql: string) => Promise<void>,
): Promise<void> {
  const results = tablesWithIds(tables)
    .filter(({ place }) => place === 'scope')
    .map(({ name }) => sql`SELECT result FROM run_command_on_shards(${name}, ${AHEAD})`)
  const ahead = await tx.get(sql`SELECT max(result::bigint) AS ids, gh_txid_epoch() AS epoch
    FROM (${join(results, ' UNION ALL ')}) AS shards`)
  if (Number(ahead!.ids) < 0) return
  await ddl(replaceEpoch(Number(ahead!.epoch) + Number(ahead!.ids) + MARGIN))
}

/** How far the newest ids of a shard are ahead of the next one of its server. */
const AHEAD = `SELECT coalesce(max(txid), 0) - gh_txid_epoch()
    - CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)
  FROM (SELECT txid FROM %s ORDER BY position DESC LIMIT ${LATEST_ROWS}) AS latest`
