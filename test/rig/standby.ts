/** A primary of PostgreSQL with a standby, and a database on both. */
import { type CleanupScope, onEnd } from './cleanup.ts'
import { eventually } from './eventually.ts'
import {
  createDatabase,
  type PostgresServer,
  queryAsAdmin,
  startPostgres,
  withName,
} from './postgres.ts'

export interface Pair {
  readonly primary: PostgresServer
  readonly standby: PostgresServer
  /** The database on the primary. */
  readonly url: string
  /** The same database on the standby. */
  readonly readUrl: string
}

/**
 * Starts both servers until the end of the scope. Without fsync a server process that is killed
 * loses no commit, because the machine survives.
 */
export async function openPair(
  scope: CleanupScope,
  settings: string[] = ['fsync=off'],
): Promise<Pair> {
  const primary = await startPostgres(settings)
  onEnd(scope, () => primary.stop())
  const url = await createDatabase(primary.url)
  const standby = await primary.openStandby()
  onEnd(scope, () => standby.stop())
  return { primary, standby, url, readUrl: withName(standby.url, new URL(url).pathname.slice(1)) }
}

/** Waits until the standby has replayed all of the primary's log. */
export async function awaitReplay({
  primary,
  standby,
}: Pick<Pair, 'primary' | 'standby'>): Promise<void> {
  const [end] = await queryAsAdmin(primary.url, 'SELECT pg_current_wal_insert_lsn() AS lsn')
  const replayed = `SELECT pg_last_wal_replay_lsn() >= '${end!.lsn}' AS done`
  const isReplayed = async () => (await queryAsAdmin(standby.url, replayed))[0]!.done as boolean
  await eventually(isReplayed, Boolean)
}
