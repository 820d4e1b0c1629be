/**
 * The replication slots of PostgreSQL. The server keeps all WAL since the position of a slot, also
 * of one that no standby reads any more, until its disk is full.
 */
import type { Database, Value } from './database.ts'
import { raw, type Sql } from './sql.ts'

export interface ReplicationSlot {
  readonly name: string
  readonly isActive: boolean
  readonly bytes: number
}

const SLOTS_MAX = 20

/** Null on a standby. */
const SLOTS = raw(`CASE WHEN pg_is_in_recovery() THEN NULL ELSE (
  SELECT json_agg(s ORDER BY s.bytes DESC)::text FROM (
    SELECT slot_name AS name, active AS "isActive",
      pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::bigint AS bytes
    FROM pg_replication_slots WHERE restart_lsn IS NOT NULL AND wal_status <> 'lost'
    ORDER BY bytes DESC LIMIT ${SLOTS_MAX}) AS s) END`)

/** SQL for `parseSlots`; undefined for a file. */
export const selectSlots = ({ name }: Pick<Database, 'name'>): Sql | undefined =>
  name === 'postgres' ? SLOTS : undefined

export const parseSlots = (value: Value): readonly ReplicationSlot[] =>
  value === null ? [] : JSON.parse(String(value))
