/**
 * Adds counts to the tables of series, deliveries and errors. Each count is added to a row of every
 * step, so that no job aggregates rows, and deleted when its step is no longer stored.
 */
import type { Statement, Value } from '../../platform/storage/database.ts'
import { prepareStatement } from '../../platform/storage/sql.ts'
import type { DeliveryCounts } from './delivery-counter.ts'
import type { ErrorCounts } from './error-counter.ts'
import { LATENCY_BUCKETS } from './percentiles.ts'
import type { SeriesCounts } from './series-counter.ts'
import { ERROR_STEPS, SERIES_STEPS, type SeriesStep, stepStart } from './steps.ts'
import { prepareInserts } from './store.ts'

type CountCell = string | number

interface CountTable<T> {
  readonly name: string
  readonly steps: readonly SeriesStep[]
  readonly key: readonly (keyof T & string)[]
  /** The columns of counts, and how they follow from an entry. */
  readonly columns: readonly string[]
  readonly cells: (entry: T) => CountCell[]
  /** Adds the cells of an entry to those of another with the same key. */
  readonly add: (sum: CountCell[], cells: readonly CountCell[]) => void
  /** The SQL that does so in the database. */
  readonly update: string
}

const addAll = (sum: CountCell[], cells: readonly CountCell[]): void => {
  for (const [at, cell] of cells.entries()) sum[at] = (sum[at] as number) + (cell as number)
}

const sumsOf = (table: string, columns: readonly string[]): string =>
  columns.map((name) => `${name} = ${table}.${name} + excluded.${name}`).join(', ')

export const BUCKET_COLUMNS = Array.from({ length: LATENCY_BUCKETS }, (_, at) => `b${at}`)
const OMITTED_COLUMNS = ['sampled', 'dropped']
export const COUNT_COLUMNS = [
  ...['s2', 's3', 's4', 's5', 'refused', 'limited'],
  ...BUCKET_COLUMNS,
  ...OMITTED_COLUMNS,
]

const seriesTable: CountTable<SeriesCounts> = {
  name: 'gh_monitoring_series',
  steps: SERIES_STEPS,
  key: ['customer', 'mode', 'caller', 'version'],
  columns: COUNT_COLUMNS,
  cells: ({ classes, refused, limited, buckets, sampled, dropped }) => [
    ...classes,
    refused,
    limited,
    ...buckets,
    sampled,
    dropped,
  ],
  add: addAll,
  update: sumsOf('gh_monitoring_series', COUNT_COLUMNS),
}

const deliveriesTable: CountTable<DeliveryCounts> = {
  name: 'gh_monitoring_deliveries',
  steps: SERIES_STEPS,
  key: ['customer', 'mode', 'webhook'],
  columns: ['delivered', 'failed'],
  cells: ({ delivered, failed }) => [delivered, failed],
  add: addAll,
  update: sumsOf('gh_monitoring_deliveries', ['delivered', 'failed']),
}

const LATEST = 'excluded.last_at >= gh_monitoring_errors.last_at'
const errorsTable: CountTable<ErrorCounts> = {
  name: 'gh_monitoring_errors',
  steps: ERROR_STEPS,
  key: ['error', 'status', 'route', 'version', 'customer', 'mode'],
  columns: ['count', 'last_at', 'sample'],
  cells: ({ count, lastAt, sample }) => [count, lastAt, sample],
  add(sum, [count, lastAt, sample]) {
    sum[0] = (sum[0] as number) + (count as number)
    if (lastAt! < sum[1]!) return
    sum[1] = lastAt!
    sum[2] = sample!
  },
  update: `count = gh_monitoring_errors.count + excluded.count,
    sample = CASE WHEN ${LATEST} THEN excluded.sample ELSE gh_monitoring_errors.sample END,
    last_at = CASE WHEN ${LATEST} THEN excluded.last_at ELSE gh_monitoring_errors.last_at END`,
}

/** Returns the function that creates the statements for counts of one table. */
function createAdder<T extends { readonly at: number }>(table: CountTable<T>) {
  const key = ['step', 'at', 'node', ...table.key]
  const conflict = `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${table.update}`
  const insert = prepareInserts(table.name, [...key, ...table.columns], conflict)
  return (node: string, entries: readonly T[]): Statement[] =>
    table.steps.flatMap(({ seconds }) => {
      // One statement cannot change a row twice, so counts of the same step are added first.
      const rows = new Map<string, { readonly key: Value[]; readonly cells: CountCell[] }>()
      for (const entry of entries) {
        const names = table.key.map((name) => entry[name] as CountCell)
        const rowKey = [seconds, stepStart(entry.at, seconds), node, ...names]
        const text = rowKey.join(' ')
        const cells = table.cells(entry)
        const row = rows.get(text)
        if (row) table.add(row.cells, cells)
        else rows.set(text, { key: rowKey, cells })
      }
      return insert([...rows.values()].map((row) => [...row.key, ...row.cells]))
    })
}

/** Each returns statements that add counts of a node to every step. */
export const addSeriesCounts = createAdder(seriesTable)
export const addDeliveryCounts = createAdder(deliveriesTable)
export const addErrorCounts = createAdder(errorsTable)

const deletions = [seriesTable, deliveriesTable, errorsTable].flatMap(({ name, steps }) => {
  const deleteBefore = prepareStatement(`DELETE FROM ${name} WHERE step = ? AND at < ?`)
  return steps.map((step) => ({ step, deleteBefore }))
})

/** Deletes the steps that are no longer stored. */
export const deleteOldCounts = (nowMs: number): Statement[] =>
  deletions.map(({ step: { seconds, retentionS }, deleteBefore }) =>
    deleteBefore([seconds, Math.floor(nowMs / 1000) - retentionS]),
  )
