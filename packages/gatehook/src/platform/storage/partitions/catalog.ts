/**
 * The tables that are partitioned by time on PostgreSQL (decision 0053), and their partitions as
 * the database describes them. On SQLite each is one table.
 */
import type { Database, Reader, Tx } from '../database.ts'
import { deliveryIndexes, formerDeliveryIndexes } from '../engine-indexes.ts'
import { prepareStatement } from '../sql.ts'
import {
  byTextId,
  compareParts,
  DAY_MS,
  type Division,
  hasOnePeriod,
  type Partition,
  parsePartition,
} from './periods.ts'

/** Runs a statement of `Database.migrate`. */
export type RunDdl = (sql: string) => Promise<void>

export interface TimeTable extends Division {
  readonly name: string
  /** The column by whose time the rows are divided. */
  readonly column: string
  /** Indexes that a table of an earlier release lacks, as definitions by name. */
  readonly added: Readonly<Record<string, string>>
  /**
   * An index of rows that are purged one by one: only the partitions without a period have it.
   */
  readonly loose?: { readonly index: string; readonly column: string }
  /**
   * A table that was created with a key of numbers. A unique index of a partitioned table contains
   * the column above, so `index` becomes the primary key.
   */
  readonly numbered?: { readonly column: string; readonly index: string }
  /** Storage parameters of each partition: `fillfactor = 45`. */
  readonly storage?: string
  /** Indexes of earlier releases, which are dropped before the conversion. */
  readonly former?: readonly string[]
}

const ofEvents = byTextId('evt_', 3 * DAY_MS)

export const eventTable: TimeTable = {
  ...ofEvents,
  name: 'gh_events',
  column: 'id',
  added: { gh_events_position: 'ON gh_events (position)' },
  numbered: { column: 'position', index: 'gh_events_id' },
}
export const bodyTable: TimeTable = {
  ...ofEvents,
  name: 'gh_event_bodies',
  column: 'event_id',
  added: {},
}

export const deliveryTable: TimeTable = {
  ...byTextId('dlv_', 3 * DAY_MS),
  name: 'gh_deliveries',
  column: 'id',
  added: {
    gh_deliveries_no: 'ON gh_deliveries (no)',
    ...Object.fromEntries(deliveryIndexes.map(({ name, definition }) => [name, definition])),
  },
  numbered: { column: 'no', index: 'gh_deliveries_id' },
  // The record of an attempt doubles a row, which stays in its page (decision 0058).
  storage: 'fillfactor = 45',
  former: formerDeliveryIndexes,
}

/** Ids that are hashes: four bytes, the start of the day, the hash. Former ids are hashes alone. */
const DAY_ID_MARK = 'ffffffff'
const TIME_DIGITS = 12

const dayStart = (ms: number): string =>
  DAY_ID_MARK + Math.max(0, ms).toString(16).padStart(TIME_DIGITS, '0')

/** Returns the id of a hash in the day of an instant; it is as long as the hash. */
export function dayIdAt(hash: Uint8Array, ms: number): Buffer {
  const start = Buffer.from(dayStart(Math.floor(ms / DAY_MS) * DAY_MS), 'hex')
  return Buffer.concat([start, hash.subarray(0, hash.length - start.length)])
}

export const recordTable: TimeTable = {
  name: 'gh_idempotency',
  column: 'id',
  periodMs: DAY_MS,
  boundAt: (ms) => `\\x${dayStart(ms)}`,
  timeOf(id) {
    const digits = typeof id === 'string' ? id.slice(2) : Buffer.from(id).toString('hex')
    if (!digits.startsWith(DAY_ID_MARK)) return 0
    return Number.parseInt(digits.slice(DAY_ID_MARK.length).slice(0, TIME_DIGITS), 16)
  },
  added: { gh_idempotency_secret: 'ON gh_idempotency (expires_at) WHERE secret = 1' },
  loose: { index: 'gh_idempotency_expiry', column: 'expires_at' },
}

export const timeTables: readonly TimeTable[] = [eventTable, bodyTable, recordTable, deliveryTable]

const kind = prepareStatement(`SELECT CAST(relkind AS text) AS kind FROM pg_class
  WHERE oid = to_regclass(quote_ident(?))`)
const partitions = prepareStatement(`SELECT c.relname AS name,
    pg_get_expr(c.relpartbound, c.oid) AS bound
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = to_regclass(quote_ident(?))`)
const moving = prepareStatement(`SELECT 1 AS moving WHERE to_regclass('gh_move') IS NOT NULL`)

/** Whether `gatehook move` has begun. */
export const isMoving = async (reader: Reader): Promise<boolean> =>
  (await reader.get(moving([]))) !== undefined

export async function isPartitioned(reader: Reader, { name }: TimeTable): Promise<boolean> {
  return (await reader.get(kind([name])))?.kind === 'p'
}

/** Returns the partitions in the order of their ids; none of a table that is not partitioned. */
export async function readPartitions(reader: Reader, { name }: TimeTable): Promise<Partition[]> {
  const rows = await reader.all<{ name: string; bound: string }>(partitions([name]))
  return rows.map((row) => parsePartition(row.name, row.bound)).sort(compareParts)
}

/** Returns the names of the tables whose expired rows are purged one by one. */
export async function tablesOfMixedAge(db: Database, table: TimeTable): Promise<string[]> {
  if (db.name === 'sqlite') return [table.name]
  const all = await readPartitions(db, table)
  if (all.length === 0) return [table.name]
  return all.filter((partition) => !hasOnePeriod(table, partition)).map(({ name }) => name)
}

/**
 * Locks the partitioned table against all other statements until the transaction ends. Returns
 * false during a move: its triggers do not record the rows of a dropped partition.
 */
export async function lockTable(tx: Tx, ddl: RunDdl, { name }: TimeTable): Promise<boolean> {
  await ddl(`LOCK TABLE ONLY ${name} IN ACCESS EXCLUSIVE MODE`)
  return !(await isMoving(tx))
}
