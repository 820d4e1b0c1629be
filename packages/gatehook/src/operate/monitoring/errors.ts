/** `GET /admin/errors`: errors by cause, those of most customers first. */

import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { join, type Sql, sql } from '../../platform/storage/sql.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { countModeCondition } from './mode-condition.ts'
import { monitoringOperations } from './operations.ts'
import { ERROR_STEPS, type SeriesRange, seriesRange } from './steps.ts'
import type { MonitoringStore } from './store.ts'

/** Causes of one response. */
const CAUSES_MAX = 100
const DAY_MS = 86_400_000
const operation = monitoringOperations.errors

interface ErrorFilters {
  readonly customer?: string | undefined
  readonly mode?: string | undefined
}

/** Reads the causes of a range. `latest` is the instant and the request id of the last error. */
async function readErrors(from: Reader, range: SeriesRange, filters: ErrorFilters) {
  const conditions: Sql[] = [
    sql`step = ${range.stepS}`,
    sql`at >= ${range.fromS}`,
    sql`at < ${range.toS}`,
  ]
  if (filters.customer !== undefined) conditions.push(sql`customer = ${filters.customer}`)
  if (filters.mode !== undefined) conditions.push(countModeCondition(filters.mode))
  const rows = await from.all<{
    error: string
    status: number
    route: string
    version: string
    total: number
    customers: number
    latest: string
  }>(sql`SELECT error, status, route, version, CAST(sum(count) AS BIGINT) AS total,
    count(DISTINCT NULLIF(customer, '')) AS customers,
    max(CAST(last_at AS TEXT) || ' ' || sample) AS latest
    FROM gh_monitoring_errors WHERE ${join(conditions, ' AND ')}
    GROUP BY error, status, route, version
    ORDER BY customers DESC, total DESC, error, route, version LIMIT ${CAUSES_MAX}`)
  return rows.map(({ error, status, route, version, total, customers, latest }) => {
    const [lastAt, sample] = latest.split(' ')
    return {
      error,
      status: Number(status) || null,
      route,
      version: version || null,
      count: Number(total),
      customers: Number(customers),
      last_at: isoTime(Number(lastAt)),
      sample_request_id: sample!,
    }
  })
}

interface ErrorRouteOptions {
  readonly store: MonitoringStore
  readonly clock: Clock
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
}

export const errorsRoute = ({ store, clock, flush }: ErrorRouteOptions): Route =>
  implement(operation, async (_call, _, { from, to, ...filters }) => {
    const toMs = to ?? clock.now()
    const fromMs = from ?? toMs - DAY_MS
    const range = seriesRange({ fromMs, toMs, requestedS: undefined }, ERROR_STEPS)
    await flush()
    return respond(
      operation,
      {
        from: isoTime(range.fromS * 1000),
        to: isoTime(range.toS * 1000),
        data: await readErrors(store, range, filters),
        next_cursor: null,
        has_more: false,
      },
      { 'cache-control': 'no-store' },
    )
  })
