/**
 * Checks a PostgreSQL server at start: it accepts writes, and has the synchronous standby that the
 * durability requires. `platform/nodes/` compares its clock with that of the node.
 */
import type { DatabaseTarget } from '../../kernel/database-target.ts'
import { type Database, StorageWaitError } from './database.ts'
import { raw, type Sql, sql } from './sql.ts'

const LOST = 'The database has no synchronous replica for writes'
const REFUSED =
  'GATEHOOK_DURABILITY is replica, and the server has no synchronous standby, so writes are refused'
/** For a write that was refused. */
export const DURABILITY_LOST = `${REFUSED}. The check durability of /readyz says what it lacks.`
const NAME_IT = "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'; SELECT pg_reload_conf()"
const OTHERWISE = 'Or set GATEHOOK_DURABILITY=local.'

/** The ways in which a server gives up what `replica` promises (§18.3). */
export const durabilityFaults = {
  lost: {
    message: `${LOST}: none is connected, and none is named.`,
    /** For operators. */
    advice:
      `${REFUSED}: none is connected, and synchronous_standby_names is empty. Attach one, and ` +
      `name it: ${NAME_IT}. ${OTHERWISE}`,
  },
  gone: {
    message: `${LOST}: none is connected.`,
    advice:
      `${REFUSED}: synchronous_standby_names has a value, and no standby is connected. Start the ` +
      `one that has ended, repair its network, or attach another one. ${OTHERWISE}`,
  },
  unnamed: {
    message: `${LOST}: one is connected, and none is named.`,
    advice:
      `${REFUSED}: a standby is connected, and synchronous_standby_names is empty. Name it: ` +
      `${NAME_IT}. ${OTHERWISE}`,
  },
  mismatched: {
    message: `${LOST}: none of those that are named is connected.`,
    advice:
      `${REFUSED}: a standby is connected, and synchronous_standby_names names others only. Name ` +
      'it by the application_name of its primary_conninfo (pg_stat_replication has it), or all: ' +
      `${NAME_IT}. ${OTHERWISE}`,
  },
  unconfirmed: {
    message: 'No synchronous replica has confirmed a write for more than 5 s.',
    advice:
      'GATEHOOK_DURABILITY is replica, and a commit waits for more than 5 s for a synchronous ' +
      'standby: it is frozen or overloaded, the network loses its packets, or ' +
      'synchronous_standby_names names another one. Continue or end its process, attach another ' +
      `standby, or name it: ${NAME_IT}. ${OTHERWISE}`,
  },
  unlogged: {
    message: 'No replica has the rows of a table of the database.',
    advice:
      'GATEHOOK_DURABILITY is replica, and a table is unlogged: no standby has its rows. Writes ' +
      'are refused until it is logged. The warning `schema` of the node has the statement that ' +
      'does so; GATEHOOK_DURABILITY=local accepts the loss.',
  },
} as const

export type DurabilityFault = keyof typeof durabilityFaults

/**
 * SQL of the setting, empty while no standby of it is connected, for which commits would wait; null
 * on a standby, whose own setting has no effect. Every role sees how many are connected, and with
 * `pg_monitor` which of them the setting names.
 */
export const SYNCHRONOUS_STANDBYS = raw(`CASE WHEN pg_is_in_recovery() THEN NULL
  WHEN EXISTS (SELECT FROM pg_stat_get_wal_senders() WHERE sync_priority IS DISTINCT FROM 0)
  THEN current_setting('synchronous_standby_names') ELSE '' END`)

/** SQL of why that is empty. Without a setting, no standby has a priority. */
const LOSS = `CASE concat(current_setting('synchronous_standby_names') <> '',
    EXISTS (SELECT FROM pg_stat_get_wal_senders()))
  WHEN 'tt' THEN 'mismatched' WHEN 'tf' THEN 'gone' WHEN 'ft' THEN 'unnamed' ELSE 'lost' END`

/** A commit that waits longer for a standby is not confirmed. */
const UNCONFIRMED_S = 5

/** SQL of the `DurabilityFault` of a primary; empty if there is none, null on a standby. */
const DURABILITY_FAULT = raw(`CASE ${SYNCHRONOUS_STANDBYS.sql} WHEN '' THEN ${LOSS} ELSE
  CASE WHEN pg_is_in_recovery() THEN NULL WHEN EXISTS (SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'SyncRep'
      AND query_start < clock_timestamp() - interval '${UNCONFIRMED_S} s')
  THEN 'unconfirmed' ELSE '' END END`)

/** Returns SQL of the durability fault; undefined for a file, which has no standbys. */
export const durabilityFaultOf = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? DURABILITY_FAULT : undefined

/**
 * Whether a commit is confirmed now. It changes no row. A commit that waits while this one does not
 * belongs to a session of the server that hangs.
 */
export const confirmsCommits = (db: Database): Promise<boolean> =>
  db
    .write((tx) => tx.run(sql`SELECT pg_logical_emit_message(true, 'gatehook', '')`))
    .then(
      () => true,
      () => false,
    )

/** Settings of the server without which it loses acknowledged commits, or its pages. */
const REQUIRED_SETTINGS = ['fsync', 'full_page_writes', 'synchronous_commit'] as const

/**
 * Reads what the commits of a server wait for, and which required settings are off; undefined for a
 * file, whose commits are synced.
 */
export async function readCommitSettings(db: Database) {
  if (db.name !== 'postgres') return undefined
  const settings = REQUIRED_SETTINGS.map((name) => `current_setting('${name}') AS ${name}`)
  const row = await db.get(sql`SELECT ${SYNCHRONOUS_STANDBYS} AS standbys,
    ${DURABILITY_FAULT} AS fault, ${raw(settings.join())}`)
  return {
    standbys: row!.standbys as string | null,
    fault: row!.fault as DurabilityFault | '' | null,
    off: REQUIRED_SETTINGS.filter((name) => row![name] === 'off'),
  }
}

/**
 * Throws `StorageWaitError` for a standby, and for a server without the synchronous standby that
 * `durability` needs.
 */
export async function checkServer(
  db: Database,
  durability: DatabaseTarget['durability'] = 'local',
): Promise<void> {
  if (db.name !== 'postgres') return
  const row = await db.get(sql`SELECT pg_is_in_recovery() AS standby,
    current_setting('synchronous_standby_names') AS synchronous_standbys, ${raw(LOSS)} AS fault`)
  if (row!.standby) {
    throw new StorageWaitError(
      'The database is a standby and accepts no writes. Name the primary in the address.',
    )
  }
  if (durability === 'replica' && row!.synchronous_standbys === '') {
    throw new StorageWaitError(durabilityFaults[row!.fault as DurabilityFault].advice)
  }
}

/** An integer: the digits of other numbers depend on a setting. */
const SERVER_NOW = raw('CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)')

/** SQL of the clock of the server in epoch milliseconds; undefined for a file, which has none. */
export const serverClockOf = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? SERVER_NOW : undefined
