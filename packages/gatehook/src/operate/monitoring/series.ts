/**
 * Reads series (`GET /admin/series`): requests by class, percentiles of latency, deliveries, and
 * requests by version, as sums over all nodes, with totals of the range and of the preceding one.
 */
import type { Reader } from '../../platform/storage/database.ts'
import { join, raw, type Sql, sql } from '../../platform/storage/sql.ts'
import { BUCKET_COLUMNS, COUNT_COLUMNS } from './count-store.ts'
import { countModeCondition } from './mode-condition.ts'
import { LATENCY_BUCKETS, percentile } from './percentiles.ts'
import { SERIES_STEPS, type SeriesRange, stepStart } from './steps.ts'

export const METRICS = ['requests', 'latency', 'deliveries', 'versions'] as const
export type SeriesMetric = (typeof METRICS)[number]

/** Columns by parameter; each metric has some of them. */
export interface SeriesFilters {
  readonly customer?: string | undefined
  readonly mode?: string | undefined
  readonly key?: string | undefined
  readonly version?: string | undefined
  readonly webhook?: string | undefined
}

export interface Series {
  readonly metric: SeriesMetric
  /** `4xx`, `p95`, `delivered`, `v1`. */
  readonly key: string
  readonly values: readonly (number | null)[]
}

type Totals = Readonly<Record<string, number | null>>
export type TotalsByMetric = Partial<Record<SeriesMetric, Totals>>

/** Versions of one response; more than a service can serve. */
const VERSIONS_MAX = 50

interface SeriesTable {
  readonly name: string
  readonly columns: readonly string[]
  /** The column of each filter. */
  readonly filters: Readonly<Partial<Record<keyof SeriesFilters, string>>>
}

const REQUESTS: SeriesTable = {
  name: 'gh_monitoring_series',
  columns: COUNT_COLUMNS,
  filters: { customer: 'customer', mode: 'mode', key: 'caller', version: 'version' },
}
const DELIVERIES: SeriesTable = {
  name: 'gh_monitoring_deliveries',
  columns: ['delivered', 'failed'],
  filters: { customer: 'customer', mode: 'mode', webhook: 'webhook' },
}

const tableOf = (metric: SeriesMetric): SeriesTable =>
  metric === 'deliveries' ? DELIVERIES : REQUESTS

/** Returns whether a metric can be filtered by a parameter. */
export const hasFilter = (metric: SeriesMetric, filter: keyof SeriesFilters): boolean =>
  tableOf(metric).filters[filter] !== undefined

type Sums = readonly number[]

/** Reads the sums of columns by the start of the step, and by version if `byVersion`. */
async function readSums(
  from: Reader,
  table: SeriesTable,
  { fromS, toS, stepS }: SeriesRange,
  filters: SeriesFilters,
  byVersion = false,
): Promise<{ at: number; version: string; sums: Sums }[]> {
  const conditions: Sql[] = [sql`step = ${stepS}`, sql`at >= ${fromS}`, sql`at < ${toS}`]
  for (const [filter, value] of Object.entries(filters)) {
    const column = table.filters[filter as keyof SeriesFilters]
    if (value === undefined || !column) continue
    conditions.push(filter === 'mode' ? countModeCondition(value) : sql`${raw(column)} = ${value}`)
  }
  const group = raw(byVersion ? 'at, version' : 'at')
  const version = raw(byVersion ? 'version' : "''")
  // PostgreSQL returns sums of integers as text.
  const sums = raw(table.columns.map((name) => `CAST(sum(${name}) AS BIGINT)`).join(', '))
  const rows = await from.arrays(sql`SELECT at, ${version}, ${sums} FROM ${raw(table.name)}
    WHERE ${join(conditions, ' AND ')} GROUP BY ${group} ORDER BY ${group}`)
  return rows.map(([at, name, ...values]) => ({
    at: Number(at),
    version: String(name),
    sums: values.map(Number),
  }))
}

const COLUMN = Object.fromEntries(COUNT_COLUMNS.map((name, at) => [name, at]))
const CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const
const classOf = (sums: Sums, at: number): number => sums[at] ?? 0
const requestsOf = (sums: Sums): number =>
  CLASSES.reduce((all, _, at) => all + classOf(sums, at), 0)
const bucketsOf = (sums: Sums): number[] => {
  const first = COLUMN[BUCKET_COLUMNS[0]!]!
  return sums.slice(first, first + LATENCY_BUCKETS)
}
const PERCENTILES = { p50: 0.5, p95: 0.95, p99: 0.99 } as const

/** The series of each metric: the key and the value of a step's sums. */
const READINGS: Readonly<
  Record<
    Exclude<SeriesMetric, 'versions'>,
    readonly (readonly [key: string, value: (sums: Sums) => number | null])[]
  >
> = {
  requests: CLASSES.map((name, at) => [name, (sums) => classOf(sums, at)]),
  latency: Object.entries(PERCENTILES).map(([name, fraction]) => [
    name,
    (sums) => percentile(bucketsOf(sums), fraction),
  ]),
  deliveries: [
    ['delivered', (sums) => sums[0] ?? 0],
    ['failed', (sums) => sums[1] ?? 0],
  ],
}

/** Reads the series of one metric. Steps that have not begun have the value null. */
export async function readSeries(
  from: Reader,
  metric: SeriesMetric,
  range: SeriesRange,
  filters: SeriesFilters,
  nowS: number,
): Promise<Series[]> {
  const { fromS, toS, stepS } = range
  const rows = await readSums(from, tableOf(metric), range, filters, metric === 'versions')
  const starts = Array.from({ length: (toS - fromS) / stepS }, (_, at) => fromS + at * stepS)
  const valuesOf = (sumsByStart: ReadonlyMap<number, Sums>, read: (sums: Sums) => number | null) =>
    starts.map((at) => (at > nowS ? null : read(sumsByStart.get(at) ?? [])))
  if (metric !== 'versions') {
    const sumsByStart = new Map(rows.map(({ at, sums }) => [at, sums]))
    return READINGS[metric].map(([key, read]) => ({
      metric,
      key,
      values: valuesOf(sumsByStart, read),
    }))
  }
  const versions = [...new Set(rows.map(({ version }) => version))].filter((name) => name !== '')
  return versions.slice(0, VERSIONS_MAX).map((version) => {
    const own = rows.filter((row) => row.version === version)
    const sumsByStart = new Map(own.map(({ at, sums }) => [at, sums]))
    return { metric, key: version, values: valuesOf(sumsByStart, requestsOf) }
  })
}

/** Reads the totals of a metric over a range. */
export async function readTotals(
  from: Reader,
  metric: SeriesMetric,
  range: SeriesRange,
  filters: SeriesFilters,
): Promise<Totals> {
  const rows = await readSums(from, tableOf(metric), range, filters, metric === 'versions')
  const { columns } = tableOf(metric)
  const all = columns.map((_, at) => rows.reduce((sum, row) => sum + row.sums[at]!, 0))
  if (metric === 'versions') {
    const counts = new Map<string, number>()
    for (const { version, sums } of rows) {
      if (version !== '') counts.set(version, (counts.get(version) ?? 0) + requestsOf(sums))
    }
    return Object.fromEntries([...counts].slice(0, VERSIONS_MAX))
  }
  const totals = READINGS[metric].map(([key, read]) => [key, read(all)] as const)
  if (metric !== 'requests') return Object.fromEntries(totals)
  const { sampled, dropped } = COLUMN
  return Object.fromEntries([
    ...totals,
    ['count', requestsOf(all)],
    ['refused', all[COLUMN.refused!]!],
    ['not_logged', all[sampled!]! + all[dropped!]!],
    ['dropped', all[dropped!]!],
  ])
}

/**
 * Returns the range of the same length before a range; undefined if its steps are no longer stored.
 */
export function precedingRange({ fromS, toS, stepS }: SeriesRange, nowS: number) {
  const lengthS = toS - fromS
  const step = SERIES_STEPS.find(({ seconds }) => seconds === stepS)!
  const preceding: SeriesRange = { fromS: fromS - lengthS, toS: fromS, stepS }
  return preceding.fromS < stepStart(nowS - step.retentionS, stepS) ? undefined : preceding
}
