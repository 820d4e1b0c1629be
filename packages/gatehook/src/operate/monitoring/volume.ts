/**
 * The bytes that the request log stores, by time (§12.7): a caller chooses the size of its
 * requests, so that a number of rows bounds nothing. Statements only.
 */
import type { Reader, Statement } from '../../platform/storage/database.ts'
import { prepareStatement, sql } from '../../platform/storage/sql.ts'
import { instantOf, positionAt } from './position.ts'
import type { RequestRecord } from './request-record.ts'

/** Seconds of a row. */
const STEP_S = 10
/** Numbers, and the entries of the indexes without their texts. */
const ROW_BYTES = 300
/** Columns whose text is in an index, too. */
const INDEXED = ['id', 'customer', 'key_id', 'client_id', 'route', 'error', 'object'] as const

/** Returns about the bytes of a record in a database, with its index entries. */
export function bytesOfRecord(record: RequestRecord): number {
  let bytes = ROW_BYTES
  for (const value of Object.values(record)) {
    if (typeof value === 'string') bytes += Buffer.byteLength(value)
  }
  for (const name of INDEXED) bytes += record[name]?.length ?? 0
  return bytes
}

const add = prepareStatement(`INSERT INTO gh_monitoring_volume (at, node, bytes) VALUES (?, ?, ?)
  ON CONFLICT (at, node) DO UPDATE SET bytes = gh_monitoring_volume.bytes + excluded.bytes`)

/** Adds the bytes of records to their time. */
export function addVolume(node: string, records: readonly RequestRecord[]): Statement[] {
  const bytesByTime = new Map<number, number>()
  for (const record of records) {
    const seconds = Math.floor(instantOf(record.position) / 1000)
    const at = seconds - (seconds % STEP_S)
    bytesByTime.set(at, (bytesByTime.get(at) ?? 0) + bytesOfRecord(record))
  }
  return [...bytesByTime].map(([at, bytes]) => add([at, node, bytes]))
}

/** Returns the instant before which requests exceed `most` bytes; undefined if they do not. */
export async function findExcess(from: Reader, most: number): Promise<number | undefined> {
  const rows = await from.all<{ at: number; bytes: number }>(
    sql`SELECT at, sum(bytes) AS bytes FROM gh_monitoring_volume GROUP BY at ORDER BY at DESC`,
  )
  let bytes = 0
  for (const row of rows) {
    bytes += Number(row.bytes)
    if (bytes > most) return (Number(row.at) + STEP_S) * 1000
  }
  return undefined
}

/** Deletes the counts of requests that are deleted: those before the oldest one. */
export const trimVolume = (): Statement =>
  sql`DELETE FROM gh_monitoring_volume WHERE at + ${STEP_S} <= coalesce(
    (SELECT min(position) FROM gh_monitoring_requests) / ${positionAt(1000)}, at + ${STEP_S})`
