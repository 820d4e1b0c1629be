/**
 * The interface to the tables of `operate/monitoring/`, and the statements that write them. On
 * SQLite `file.ts` implements it, on PostgreSQL `shared-store.ts`.
 */
import type { Reader, Statement } from '../../platform/storage/database.ts'
import { type PreparedStatement, prepareStatement, sql } from '../../platform/storage/sql.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import { positionAt } from './position.ts'
import type { RequestRecord } from './request-record.ts'

export interface MonitoringStore extends Reader {
  /** Runs statements in one transaction. Returns the number of changed rows of each. */
  write(statements: readonly Statement[]): Promise<readonly number[]>
  readonly metrics: readonly Metric[]
  /** Bytes of the tables and their indexes. */
  bytes(): Promise<number>
  /** Whether a write is cheap now: a store that sleeps starts a thread. */
  isAwake(): boolean
  close(): Promise<void>
}

const REQUEST_COLUMNS = [
  'position',
  'id',
  'method',
  'path',
  'route',
  'kind',
  'stage',
  'status',
  'error',
  'took_ms',
  'customer',
  'mode',
  'caller_kind',
  'caller_id',
  'caller_name',
  'key_id',
  'client_id',
  'version',
  'ip',
  'user_agent',
  'object',
  'event_ids',
  'warnings',
  'trace_id',
  'cause',
  'exchange',
] as const satisfies readonly (keyof RequestRecord)[]

/** Rows of one statement: few texts serve every batch. */
const CHUNKS = [32, 1] as const

/** Prepares an INSERT for each size of a chunk. */
export function prepareInserts(table: string, columns: readonly string[], conflict: string) {
  const row = `(${columns.map(() => '?').join(', ')})`
  const texts = new Map<number, PreparedStatement>(
    CHUNKS.map((size) => {
      const rows = Array<string>(size).fill(row).join(', ')
      const text = `INSERT INTO ${table} (${columns.join(', ')}) VALUES ${rows} ${conflict}`
      return [size, prepareStatement(text)]
    }),
  )
  return (rows: readonly (readonly unknown[])[]): Statement[] => {
    const statements: Statement[] = []
    let at = 0
    for (const size of CHUNKS) {
      for (; rows.length - at >= size; at += size) {
        statements.push(texts.get(size)!(rows.slice(at, at + size).flat()))
      }
    }
    return statements
  }
}

const insertRequestRows = prepareInserts(
  'gh_monitoring_requests',
  REQUEST_COLUMNS,
  'ON CONFLICT (position) DO NOTHING',
)

export const insertRequests = (records: readonly RequestRecord[]): Statement[] =>
  insertRequestRows(records.map((record) => REQUEST_COLUMNS.map((name) => record[name])))

/** Rows that one statement deletes. */
export const DELETED_ROWS_MAX = 2000

const deleteRequestsBefore = prepareStatement(
  `DELETE FROM gh_monitoring_requests WHERE position IN (SELECT position
   FROM gh_monitoring_requests WHERE position < ? ORDER BY position LIMIT ${DELETED_ROWS_MAX})`,
)

/** Deletes a bounded number of requests before an instant. */
export const deleteRequests = (beforeMs: number): Statement =>
  deleteRequestsBefore([positionAt(beforeMs)])

const deleteOldest = prepareStatement(
  `DELETE FROM gh_monitoring_requests WHERE position IN (SELECT position
   FROM gh_monitoring_requests ORDER BY position LIMIT ?)`,
)

/** Deletes the oldest requests. */
export const deleteOldestRequests = (count: number): Statement =>
  deleteOldest([Math.min(count, DELETED_ROWS_MAX)])

export const countRequests = async (from: Reader): Promise<number> =>
  Number((await from.get(sql`SELECT count(*) AS total FROM gh_monitoring_requests`))!.total)
