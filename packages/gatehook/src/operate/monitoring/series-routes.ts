/** `GET /admin/series`: figures over time. */

import type { Clock } from '../../kernel/clock.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { parameterFailure } from '../../protocol/http/query.ts'
import { monitoringOperations } from './operations.ts'
import {
  hasFilter,
  METRICS,
  precedingRange,
  readSeries,
  readTotals,
  type Series,
  type SeriesFilters,
  type SeriesMetric,
  type TotalsByMetric,
} from './series.ts'
import { type SeriesRange, SHORTEST_STEP_S, seriesRange } from './steps.ts'
import type { MonitoringStore } from './store.ts'

const operation = monitoringOperations.series
const HOUR_MS = 3_600_000
const SHORTEST_STEP_MS = SHORTEST_STEP_S * 1000

export interface SeriesRouteOptions {
  readonly store: MonitoringStore
  readonly clock: Clock
  /** Stores the records and counts that this node has in memory. */
  readonly flush: () => Promise<void>
}

export const seriesRoute = ({ store, clock, flush }: SeriesRouteOptions): Route =>
  implement(operation, async (_call, _, query) => {
    const { metric: metrics = METRICS, from, to, step, ...filters } = query
    requireFilters(filters, metrics)
    const now = clock.now()
    const range = rangeOf({ from, to, step }, now)
    await flush()
    const series: Series[] = []
    for (const metric of metrics) {
      series.push(...(await readSeries(store, metric, range, filters, now / 1000)))
    }
    const preceding = precedingRange(range, now / 1000)
    const totals = await totalsOf(store, metrics, range, filters)
    const previous = preceding && (await totalsOf(store, metrics, preceding, filters))
    return respond(
      operation,
      {
        from: isoTime(range.fromS * 1000),
        to: isoTime(range.toS * 1000),
        step_s: range.stepS,
        series,
        totals: { ...totals, previous: previous ?? null },
      },
      { 'cache-control': 'no-store' },
    )
  })

async function totalsOf(
  store: MonitoringStore,
  metrics: readonly SeriesMetric[],
  range: SeriesRange,
  filters: SeriesFilters,
): Promise<TotalsByMetric> {
  const totals: TotalsByMetric = {}
  for (const metric of metrics) totals[metric] = await readTotals(store, metric, range, filters)
  return totals
}

/** Throws for a filter that no requested metric has. */
function requireFilters(filters: SeriesFilters, metrics: readonly SeriesMetric[]): void {
  for (const [filter, value] of Object.entries(filters)) {
    if (value === undefined) continue
    const lacking = metrics.find((metric) => !hasFilter(metric, filter as keyof SeriesFilters))
    if (lacking) {
      throw parameterFailure('invalid_parameter', filter, `does not apply to the metric ${lacking}`)
    }
  }
}

interface RequestedRange {
  /** Epoch milliseconds. */
  readonly from: number | undefined
  readonly to: number | undefined
  /** Seconds. */
  readonly step: number | undefined
}

function rangeOf({ from, to: toMs, step }: RequestedRange, now: number): SeriesRange {
  const endMs = Math.ceil((toMs ?? now) / SHORTEST_STEP_MS) * SHORTEST_STEP_MS
  return seriesRange({ fromMs: from ?? endMs - HOUR_MS, toMs: toMs ?? now, requestedS: step })
}
