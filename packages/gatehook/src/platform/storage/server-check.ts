/**
 * Checks a PostgreSQL server at start: it accepts writes, its clock agrees with the node, and it
 * has the synchronous standby that the durability requires.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import type { Log } from '../../kernel/log.ts'
import { type Database, StorageError, StorageWaitError } from './database.ts'
import { raw, type Sql, sql } from './sql.ts'

/** Clock difference that is reported: comparisons between nodes tolerate as much. */
export const CLOCK_WARN_MS = 2_000
/** Clock difference that stops the start: tokens, leases and retries would be wrong by as much. */
export const CLOCK_REFUSE_MS = 60_000

/** The sentence for the operator of a server that gives up what `replica` promises (§18.3). */
export const DURABILITY_LOST =
  'GATEHOOK_DURABILITY is replica, and the server has no synchronous standby: none is connected, ' +
  'or none is named. Attach one, and set synchronous_standby_names on the server, such as ' +
  "'ANY 1 (*)', or set GATEHOOK_DURABILITY=local."

/**
 * SQL of the setting, empty while no standby is connected, for which commits then wait; null on a
 * standby, whose own setting has no effect. Every role sees how many are connected.
 */
export const SYNCHRONOUS_STANDBYS = raw(`CASE WHEN pg_is_in_recovery() THEN NULL
  WHEN EXISTS (SELECT FROM pg_stat_get_wal_senders())
  THEN current_setting('synchronous_standby_names') ELSE '' END`)

/**
 * Throws `StorageWaitError` for a standby, and for a server without the synchronous standby that
 * `durability` needs. Throws `StorageError` for a clock that differs by more than 60 s.
 */
export async function checkServer(
  db: Database,
  clock: Clock,
  log: Log,
  durability: DatabaseTarget['durability'] = 'local',
): Promise<void> {
  if (db.name !== 'postgres') return
  const row = await db.get(sql`SELECT pg_is_in_recovery() AS standby,
    current_setting('synchronous_standby_names') AS synchronous_standbys`)
  if (row!.standby) {
    throw new StorageWaitError(
      'The database is a standby and accepts no writes. Name the primary in the address.',
    )
  }
  if (durability === 'replica' && row!.synchronous_standbys === '') {
    throw new StorageWaitError(DURABILITY_LOST)
  }
  const sentMs = clock.now()
  const [time] = await db.arrays(sql`SELECT ${SERVER_NOW}`)
  const differenceMs = clockDifferenceOf(Number(time![0]), { sentMs, receivedMs: clock.now() })
  const sentence = describeClockDifference(differenceMs)
  if (Math.abs(differenceMs) > CLOCK_REFUSE_MS) throw new StorageError(sentence)
  if (Math.abs(differenceMs) > CLOCK_WARN_MS) {
    log.warn({ clock_difference_ms: differenceMs }, sentence)
  }
}

const SERVER_NOW = raw('CAST(extract(epoch FROM clock_timestamp()) * 1000 AS double precision)')

/** SQL of the clock of the server in epoch milliseconds; undefined for a file, which has none. */
export const serverClockOf = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? SERVER_NOW : undefined

/**
 * Returns how far the clock of the database is ahead of that of the node, at least: the duration of
 * the request is deducted. All in epoch milliseconds.
 */
export function clockDifferenceOf(
  databaseNow: number,
  { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
): number {
  const databaseMs = Math.round(databaseNow)
  if (databaseMs > receivedMs) return databaseMs - receivedMs
  return Math.min(0, databaseMs - sentMs)
}

/** `differenceMs`: how far the database is ahead. */
export function describeClockDifference(differenceMs: number): string {
  const seconds = Math.round(Math.abs(differenceMs) / 100) / 10
  const direction = differenceMs < 0 ? 'ahead of' : 'behind'
  return (
    `The clock of this node is ${seconds} s ${direction} the database's. Synchronise both, for ` +
    'example with chrony.'
  )
}
