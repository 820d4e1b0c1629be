/** The traffic of the versions: over a range, or by day as bars up to the end of one. */
import type { ComponentChildren } from 'preact'
import { withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { count, day, isoSecond, percent, short } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Chart, type ChartMark } from '../../parts/chart.tsx'
import type { SeriesTone } from '../../parts/chart-shapes.ts'
import { Empty, Part } from '../../parts/notices.tsx'
import { Segments } from '../../parts/segments.tsx'
import { query, setQuery } from '../../router.ts'
import type { SeriesBody } from '../api-shapes.ts'
import {
  currentRange,
  RANGES,
  type RangeName,
  selectInstants,
  selectRange,
  type TimeRange,
  timeLabelOf,
} from '../ranges.ts'
import { customer, requestModes } from '../scope.ts'
import { axisTo, bandsOf, DAY_MS, daysOf, type TimeAxis } from './version-axis.ts'
import type { VersionDetail } from './version-shapes.ts'

const EVERY_MS = 15_000
const TONES: readonly SeriesTone[] = ['a', 'b', 'c', 'redirect']
/** The days whose mean is in the legend. */
const MEAN_DAYS = 7

/** The name of the range up to the end of a version. */
const END = 'end'

type ViewName = RangeName | typeof END

const RANGE_OPTIONS = (Object.keys(RANGES) as RangeName[])
  .filter((name) => name !== '15m')
  .map((name): readonly [ViewName, string] => [name, RANGES[name].label])

function selectView(name: ViewName): void {
  if (name !== END) selectRange(name)
  else setQuery({ range: END, from: undefined, to: undefined, cursor: undefined })
}

interface TrafficProps {
  /** The newest version first. */
  readonly rows: readonly VersionDetail[]
}

/** The requests of each version; the oldest lies at the base. */
export function Traffic({ rows }: TrafficProps) {
  const ending = rows.findLast(({ state }) => state === 'deprecated')
  const words = query.value
  const isDefault = !words.has('range') && !words.has('from') && !words.has('to')
  const isToEnd = ending !== undefined && (isDefault || words.get('range') === END)
  const range = currentRange('30d')
  const end: readonly [ViewName, string] = [END, `Up to the end of ${ending?.version}`]
  return (
    <section aria-label="Traffic">
      <div class="head">
        <p class="soft small">
          {rows.length > 0 && `${count(rows.length, 'version')}. `}A request without a version gets
          that of its key, otherwise the oldest.
        </p>
        <div class="acts">
          <Segments
            label="Range"
            value={isToEnd ? END : (range.name ?? ('' as ViewName))}
            options={ending ? [...RANGE_OPTIONS, end] : RANGE_OPTIONS}
            onChange={selectView}
          />
        </div>
      </div>
      {isToEnd ? (
        <TrafficToEnd rows={rows} ending={ending} />
      ) : (
        <TrafficOf words={range.words}>
          {(body) => <RangeChart rows={rows} body={body} range={range} />}
        </TrafficOf>
      )}
    </section>
  )
}

interface TrafficOfProps {
  readonly words: { readonly from: string; readonly to: string | undefined; readonly step?: number }
  readonly children: (body: SeriesBody) => ComponentChildren
}

function TrafficOf({ words, children }: TrafficOfProps) {
  const path = withQuery('/admin/series', {
    metric: 'versions',
    ...words,
    customer: customer.value,
    mode: requestModes(),
  })
  const traffic = useLoaded<SeriesBody>(path, { everyMs: EVERY_MS })
  return (
    <Part
      of={traffic}
      subject="the traffic"
      feature={{
        title: 'The traffic is not counted',
        text: 'The request log is off.',
        setting: 'GATEHOOK_REQUEST_LOG=all',
      }}
    >
      {children}
    </Part>
  )
}

const toneOf = (at: number): SeriesTone => TONES[Math.min(at, TONES.length - 1)]!

const valuesOf = (body: SeriesBody, version: string): readonly (number | null)[] =>
  body.series.find(({ key }) => key === version)?.values ??
  Array(body.series[0]?.values.length ?? 0).fill(0)

const sumOf = (values: readonly (number | null)[]): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0)

/** Returns the lines at which versions are deprecated and end within an axis. */
function marksOf(rows: readonly VersionDetail[], { fromMs, toMs }: TimeAxis): ChartMark[] {
  const mark = (at: string | null, words: Omit<ChartMark, 'ms'>) => {
    const ms = at === null ? Number.NaN : Date.parse(at)
    return ms >= fromMs && ms <= toMs ? [{ ms, ...words }] : []
  }
  return rows.flatMap(({ version, deprecated_at: from, sunset_at: end }) => [
    ...mark(from, { label: `${version} deprecated` }),
    ...mark(end, { label: `${version} ends, ${end && day(end)}`, isBad: true }),
  ])
}

interface RangeChartProps extends TrafficProps {
  readonly body: SeriesBody
  readonly range: TimeRange
}

function RangeChart({ rows, body, range }: RangeChartProps) {
  const steps = body.series[0]?.values.length ?? 0
  const first = Date.parse(body.from)
  const stepMs = body.step_s * 1000
  const counts = body.totals.versions ?? {}
  const all = sumOf(Object.values(counts))
  if (all === 0) {
    return <Empty title="No request with a version in this range">Select a longer range.</Empty>
  }
  const series = rows.map(({ version }, at) => ({
    name: version,
    label: version,
    tone: toneOf(at),
    values: valuesOf(body, version),
    total: `${short(counts[version] ?? 0)} (${percent((counts[version] ?? 0) / all)})`,
  }))
  const axis = { fromMs: first, toMs: first + (steps - 1) * stepMs }
  const words = series.map(({ label, total }) => `${label} ${total}`).join(', ')
  return (
    <Chart
      title="Requests by version"
      summary={`Requests by version: ${words}.`}
      kind="area"
      size="tall"
      series={series}
      times={Array.from({ length: steps }, (_, at) => first + at * stepMs)}
      timeLabel={timeLabelOf(range)}
      format={short}
      marks={marksOf(rows, axis)}
      lanes={<Lanes rows={rows} axis={axis} />}
      onRange={(from, to) => selectInstants(from, to + stepMs)}
    />
  )
}

interface ToEndProps extends TrafficProps {
  readonly ending: VersionDetail
}

function TrafficToEnd({ rows, ending }: ToEndProps) {
  const axis = axisTo(ending, slowNow().value)
  const from = isoSecond(axis.fromMs)
  return (
    <TrafficOf words={{ from, to: undefined, step: DAY_MS / 1000 }}>
      {(body) => <EndChart rows={rows} ending={ending} axis={axis} body={body} />}
    </TrafficOf>
  )
}

interface EndChartProps extends ToEndProps {
  readonly axis: TimeAxis
  readonly body: SeriesBody
}

/** Returns the requests by day, without today unless it is the first day with requests. */
function completeDays(body: SeriesBody, version: string): readonly (number | null)[] {
  const hasComplete = body.series.some(({ values }) => sumOf(values.slice(0, -1)) > 0)
  const values = valuesOf(body, version)
  return hasComplete ? values.slice(0, -1) : values
}

function EndChart({ rows, ending, axis, body }: EndChartProps) {
  const times = daysOf(axis)
  const { version, sunset_at: end } = ending
  const series = rows.map((row, at) => {
    const values = completeDays(body, row.version)
    const recent = values.slice(-MEAN_DAYS)
    const week = recent.slice(
      Math.max(
        0,
        recent.findIndex((value) => value !== 0),
      ),
    )
    const mean = Math.round(sumOf(week) / Math.max(1, week.length))
    return {
      name: row.version,
      label: row.version,
      tone: toneOf(at),
      values: times.map((_, step) => values[step] ?? null),
      total: `${short(mean)} a day`,
    }
  })
  const words = series.map(({ label, total }) => `${label} ${total}`).join(', ')
  const yesterday = completeDays(body, version).at(-1) ?? 0
  const outlook =
    end === null
      ? `${version} has no end yet.`
      : `On its last whole day ${version} had ${short(yesterday)} requests; it ends on ${day(end)}.`
  return (
    <>
      <Chart
        title={`Requests a day, up to the end of ${version}`}
        summary={`Requests by version: ${words}. ${outlook}`}
        kind="bars"
        size="tall"
        series={series}
        times={times}
        timeLabel={(ms) => day(new Date(ms).toISOString())}
        format={(value) => short(Math.round(value))}
        marks={[
          { ms: slowNow().value, label: 'today' },
          ...marksOf([ending], axis).filter(({ isBad }) => isBad),
        ]}
        lanes={<Lanes rows={rows} axis={axis} />}
      />
      <p class="hint">{outlook}</p>
    </>
  )
}

interface LanesProps extends TrafficProps {
  readonly axis: TimeAxis
}

/** The states of each version on the axis of the chart; the calendars below have them in words. */
const Lanes = ({ rows, axis }: LanesProps) => (
  <div class="lanes" aria-hidden="true">
    {rows.toReversed().map((row) => (
      <>
        <span class="v mono">{row.version}</span>
        <div class="lane">
          {bandsOf(row, axis).map(({ tone, label, note, left, width }) => (
            <span
              key={`${tone} ${left}`}
              class={tone}
              style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
            >
              {label}
              {note && <b>{note}</b>}
            </span>
          ))}
        </div>
      </>
    ))}
  </div>
)
