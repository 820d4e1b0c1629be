/** The four charts of a range: requests, time to respond, deliveries, versions. */
import { day, duration, number, percent, short } from '../../format.ts'
import { Chart } from '../../parts/chart.tsx'
import type { Series as ChartSeries, SeriesTone } from '../../parts/chart-shapes.ts'
import type { SeriesBody, VersionRow } from '../api-shapes.ts'
import { selectInstants, type TimeRange, timeLabelOf } from '../ranges.ts'

interface ChartsProps {
  readonly body: SeriesBody
  readonly versions: readonly VersionRow[]
  readonly range: TimeRange
}

const CLASS_TONES = { '2xx': 'ok', '3xx': 'redirect', '4xx': 'client', '5xx': 'server' } as const
const PERCENTILES = [
  { name: 'p50', tone: 'a' },
  { name: 'p95', tone: 'b', dash: 'dash' },
  { name: 'p99', tone: 'c', dash: 'dot' },
] as const
const VERSION_TONES: readonly SeriesTone[] = ['a', 'b', 'c', 'redirect']

const valuesOf = ({ series }: SeriesBody, metric: string, key: string) =>
  series.find((row) => row.metric === metric && row.key === key)?.values ?? []

const textOf = (value: number | null | undefined, format: (value: number) => string): string =>
  typeof value === 'number' ? format(value) : '–'

const highest = (series: readonly ChartSeries[]): number =>
  Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))

function requestSeries(body: SeriesBody): readonly ChartSeries[] {
  return Object.entries(CLASS_TONES).map(([key, tone]) => ({
    name: key,
    label: key,
    tone,
    values: valuesOf(body, 'requests', key),
    total: textOf(body.totals.requests?.[key], short),
  }))
}

const latencySeries = (body: SeriesBody): readonly ChartSeries[] =>
  PERCENTILES.map((row) => ({
    ...row,
    label: row.name,
    values: valuesOf(body, 'latency', row.name),
    total: textOf(body.totals.latency?.[row.name], duration),
  }))

const deliverySeries = (body: SeriesBody): readonly ChartSeries[] => [
  {
    name: 'delivered',
    label: 'Delivered',
    tone: 'ok',
    values: valuesOf(body, 'deliveries', 'delivered'),
    total: textOf(body.totals.deliveries?.delivered, number),
  },
  {
    name: 'failed',
    label: 'Failed attempts',
    tone: 'server',
    values: valuesOf(body, 'deliveries', 'failed'),
    total: textOf(body.totals.deliveries?.failed, number),
  },
]

/** Newest first, so that the oldest version lies at the base. */
function versionSeries(body: SeriesBody, versions: readonly VersionRow[]): readonly ChartSeries[] {
  const counts = body.totals.versions ?? {}
  const all = Object.values(counts).reduce<number>((sum, count) => sum + (count ?? 0), 0)
  const names = [...versions.map(({ version }) => version)]
  return names
    .filter((name) => name in counts)
    .map((name, at) => {
      const end = versions.find(({ version }) => version === name)?.sunset_at
      return {
        name,
        label: end ? `${name}, ends ${day(end)}` : name,
        tone: VERSION_TONES[Math.min(at, VERSION_TONES.length - 1)]!,
        values: valuesOf(body, 'versions', name),
        total: percent((counts[name] ?? 0) / Math.max(1, all)),
      }
    })
}

export function Charts({ body, versions, range }: ChartsProps) {
  const steps = body.series[0]?.values.length ?? 0
  const first = Date.parse(body.from)
  const stepMs = body.step_s * 1000
  const shared = {
    times: Array.from({ length: steps }, (_, at) => first + at * stepMs),
    timeLabel: timeLabelOf(range),
    onRange: (from: number, to: number) => selectInstants(from, to + stepMs),
  }
  const requests = requestSeries(body)
  const latency = latencySeries(body)
  const deliveries = deliverySeries(body)
  const byVersion = versionSeries(body, versions)
  const totals = (series: readonly ChartSeries[]) =>
    series.map(({ label, total }) => `${label} ${total}`).join(', ')
  return (
    <section class="section cols" aria-label="Charts">
      <Chart
        {...shared}
        title="Requests"
        summary={`Requests by class: ${totals(requests)}. Highest ${number(highest(requests))}.`}
        kind="area"
        series={requests}
        format={short}
      />
      <Chart
        {...shared}
        title="Time to respond"
        summary={`Time to respond: ${totals(latency)}. Highest ${duration(highest(latency))}.`}
        kind="line"
        series={latency}
        format={duration}
      />
      <Chart
        {...shared}
        title="Deliveries"
        summary={`Attempts of deliveries: ${totals(deliveries)}.`}
        kind="bars"
        series={deliveries}
        format={short}
      />
      <Chart
        {...shared}
        title="Versions"
        summary={`Requests by version: ${totals(byVersion)}.`}
        kind="area"
        series={byVersion}
        format={short}
      />
    </section>
  )
}
