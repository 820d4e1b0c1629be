/**
 * Checks a PostgreSQL server at start: it accepts writes, its clock agrees with the node, and it
 * has the synchronous standby that the durability requires.
 */
import type { Clock } from '../kernel/clock.ts'
import type { DatabaseTarget } from '../kernel/database-target.ts'
import type { Log } from '../kernel/log.ts'
import { type Database, StorageError } from './database.ts'
import { sql } from './sql.ts'

/** Clock difference that is logged as a warning. */
const WARN_MS = 5_000
/** Clock difference that stops the start: tokens, leases and retries would be wrong by as much. */
const REFUSE_MS = 60_000

/** Throws `StorageError` for a standby, and for a clock that differs by more than 60 s. */
export async function checkServer(
  db: Database,
  clock: Clock,
  log: Log,
  durability: DatabaseTarget['durability'] = 'local',
): Promise<void> {
  if (db.name !== 'postgres') return
  const sentMs = clock.now()
  const row = await db.get(sql`SELECT pg_is_in_recovery() AS standby,
    CAST(extract(epoch FROM clock_timestamp()) * 1000 AS double precision) AS now_ms,
    current_setting('synchronous_standby_names') AS synchronous_standbys`)
  const receivedMs = clock.now()
  if (row!.standby) {
    throw new StorageError(
      'The database is a standby and accepts no writes. Name the primary in the address.',
    )
  }
  if (durability === 'replica' && row!.synchronous_standbys === '') {
    throw new StorageError(
      'GATEHOOK_DURABILITY is replica, and the server has no synchronous standby. Set ' +
        "synchronous_standby_names there, such as 'ANY 1 (*)', or GATEHOOK_DURABILITY=local.",
    )
  }
  const differenceMs = Math.round(Number(row!.now_ms) - (sentMs + receivedMs) / 2)
  const sentence =
    `The clock of this node differs from the database's by ${Math.abs(differenceMs) / 1000} s. ` +
    'Synchronise both, for example with chrony.'
  if (Math.abs(differenceMs) > REFUSE_MS) throw new StorageError(sentence)
  if (Math.abs(differenceMs) > WARN_MS) log.warn({ clock_difference_ms: differenceMs }, sentence)
}
