/** The forecast of the requests of a version (`GET /admin/versions/{v}/forecast`). */
import { customerId } from '../../identity/access/administration.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Reader } from '../../platform/storage/database.ts'
import { type Sql, sql } from '../../platform/storage/sql.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { countModeCondition } from './mode-condition.ts'
import { SERIES_STEPS, stepStart } from './steps.ts'
import { requireVersion, type VersionTrafficDeps } from './version-callers.ts'
import {
  CALLERS_MAX,
  FORECAST_DAYS,
  versionTrafficOperations as operations,
} from './version-operations.ts'
import { forecastOf } from './version-outlook.ts'

const DAY_S = SERIES_STEPS.at(-1)!.seconds

interface ForecastSelection {
  readonly version: string
  readonly customer: string | undefined
  /** Undefined: both modes. */
  readonly mode: 'live' | 'test' | undefined
}

interface Days {
  readonly fromS: number
  /** Exclusive: the start of today. */
  readonly toS: number
}

const REQUESTS = sql`CAST(sum(s2 + s3 + s4 + s5) AS BIGINT)`

function conditionOf({ version, customer, mode }: ForecastSelection, { fromS, toS }: Days): Sql {
  return sql`step = ${DAY_S} AND at >= ${fromS} AND at < ${toS} AND version = ${version}
    ${customer === undefined ? sql`` : sql`AND customer = ${customer}`}
    ${mode === undefined ? sql`` : sql`AND ${countModeCondition(`${mode},none`)}`}`
}

/**
 * Returns the requests by day of the busiest callers, and as one more those of all others: their
 * number has no limit.
 */
async function readDailyOfCallers(
  store: Reader,
  selection: ForecastSelection,
  days: Days,
): Promise<readonly (readonly number[])[]> {
  const condition = conditionOf(selection, days)
  const length = (days.toS - days.fromS) / DAY_S
  const dayOf = (at: unknown) => (Number(at) - days.fromS) / DAY_S
  const others = Array<number>(length).fill(0)
  const totals = await store.arrays(sql`SELECT at, ${REQUESTS} FROM gh_monitoring_series
    WHERE ${condition} GROUP BY at`)
  for (const [at, count] of totals) others[dayOf(at)] = Number(count)
  const rows = await store.arrays(sql`SELECT customer, mode, caller, at, ${REQUESTS}
    FROM gh_monitoring_series WHERE ${condition} AND (customer, mode, caller) IN (
      SELECT customer, mode, caller FROM gh_monitoring_series WHERE ${condition}
      GROUP BY customer, mode, caller ORDER BY ${REQUESTS} DESC LIMIT ${CALLERS_MAX})
    GROUP BY customer, mode, caller, at`)
  const daily = new Map<string, number[]>()
  for (const [customer, mode, caller, at, count] of rows) {
    const key = JSON.stringify([customer, mode, caller])
    const values = daily.get(key) ?? Array<number>(length).fill(0)
    values[dayOf(at)] = Number(count)
    daily.set(key, values)
    others[dayOf(at)] = Math.max(0, others[dayOf(at)]! - Number(count))
  }
  return [...daily.values(), others]
}

export const versionForecastRoute = (deps: VersionTrafficDeps): Route =>
  implement(operations.forecast, async ({ params }, _, { customer, mode }) => {
    const { db, store, clock, flush } = deps
    const version = params.version!
    await requireVersion(db, version)
    await flush()
    const toS = stepStart(Math.floor(clock.now() / 1000), DAY_S)
    const selection = { version, customer: customer && customerId(customer), mode }
    const days = { fromS: toS - FORECAST_DAYS * DAY_S, toS }
    const points = forecastOf(await readDailyOfCallers(store, selection, days), toS * 1000)
    const end = points.find(({ requests }) => requests === 0)
    return respond(operations.forecast, {
      version,
      days: FORECAST_DAYS,
      gone_by: end ? isoTime(end.atMs) : null,
      points: points.map(({ atMs, requests }) => ({ at: isoTime(atMs), requests })),
    })
  })
