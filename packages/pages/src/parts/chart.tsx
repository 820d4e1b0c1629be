/** A chart with its legend, crosshair, range and table. `chart-shapes.ts` computes the shapes. */
import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import {
  bandsOf,
  HEIGHT,
  niceTop,
  type Series,
  type ShapeKind,
  shapesOf,
  WIDTH,
} from './chart-shapes.ts'
import { ChartTable } from './chart-table.tsx'
import { Segments } from './segments.tsx'

export interface ChartMark {
  readonly ms: number
  readonly label: string
  readonly isBad?: boolean
}

interface ChartProps {
  readonly title: string
  /** One sentence on the highest values, for screen readers. */
  readonly summary: string
  readonly kind: ShapeKind
  readonly series: readonly Series[]
  /** The start of each step, in ms. */
  readonly times: readonly number[]
  /** The words of a step: `14:30`. */
  readonly timeLabel: (ms: number) => string
  readonly format: (value: number) => string
  readonly size?: 'low' | 'normal' | 'tall'
  /** Called with a range that the reader has dragged over. */
  readonly onRange?: (fromMs: number, toMs: number) => void
  /** Vertical lines: the end of a version. */
  readonly marks?: readonly ChartMark[]
  /** Displayed under the time axis, between its first and last step. */
  readonly lanes?: ComponentChildren
  /** Without heading and table switch. */
  readonly isBare?: boolean
}

export function Chart(props: ChartProps) {
  const { title, series, isBare } = props
  const [view, setView] = useState<'chart' | 'table'>('chart')
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const visible = series.filter(({ name }) => !hidden.has(name))
  const toggle = (name: string) => {
    const next = new Set(hidden)
    if (!next.delete(name)) next.add(name)
    if (next.size < series.length) setHidden(next)
  }
  if (isBare) return <Plot {...props} series={visible} />
  return (
    <figure class="chart">
      <div class="bar">
        <h2>{title}</h2>
        <div class="right">
          <Segments
            label={`Display ${title} as`}
            value={view}
            options={[
              ['chart', 'Chart'],
              ['table', 'Table'],
            ]}
            onChange={setView}
          />
        </div>
      </div>
      <ul class="legend">
        {series.map(({ name, label, tone, dash, total }) => (
          <li key={name}>
            <button
              type="button"
              class={`k-${tone}`}
              aria-pressed={!hidden.has(name)}
              onClick={() => toggle(name)}
            >
              <i class={props.kind === 'line' ? `line ${dash ?? ''}` : undefined} />
              {label} {total !== undefined && <b>{total}</b>}
            </button>
          </li>
        ))}
      </ul>
      {view === 'chart' ? (
        <>
          <Plot {...props} series={visible} />
          {props.lanes}
        </>
      ) : (
        <ChartTable {...props} series={visible} />
      )}
    </figure>
  )
}

/** Positions of a pointer and of the keyboard on the steps of a chart. */
function usePointer({ times, onRange }: ChartProps) {
  const canvas = useRef<HTMLDivElement>(null)
  const [lastAt, setAt] = useState<number>()
  const [lastStart, setStart] = useState<number>()
  // The chart can have fewer steps than when the pointer moved.
  const inRange = (step: number | undefined) =>
    step !== undefined && step < times.length ? step : undefined
  const at = inRange(lastAt)
  const start = inRange(lastStart)
  const stepOf = ({ clientX }: PointerEvent): number => {
    const { left, width } = canvas.current!.getBoundingClientRect()
    const share = Math.min(1, Math.max(0, (clientX - left) / Math.max(1, width)))
    return Math.round(share * (times.length - 1))
  }
  const finish = (event: PointerEvent) => {
    const end = stepOf(event)
    if (start !== undefined && Math.abs(end - start) > 1 && onRange) {
      const [from, to] = [Math.min(start, end), Math.max(start, end)]
      onRange(times[from]!, times[to]!)
    }
    setStart(undefined)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const last = times.length - 1
    const moves: Readonly<Record<string, number>> = {
      ArrowRight: Math.min(last, (at ?? -1) + 1),
      ArrowLeft: Math.max(0, (at ?? times.length) - 1),
      Home: 0,
      End: last,
    }
    const next = moves[event.key]
    if (next === undefined) return
    event.preventDefault()
    setAt(next)
  }
  const handlers = {
    onPointerMove: (event: PointerEvent) => setAt(stepOf(event)),
    onPointerLeave: () => setAt(undefined),
    onPointerDown: (event: PointerEvent) => {
      if (!onRange || event.pointerType !== 'mouse') return
      event.preventDefault()
      canvas.current?.setPointerCapture(event.pointerId)
      setStart(stepOf(event))
    },
    onPointerUp: finish,
    onKeyDown,
    onBlur: () => setAt(undefined),
  }
  return { canvas, at, start, handlers }
}

/** The places of the labels of the time axis. */
const QUARTERS = [0, 0.25, 0.5, 0.75, 1]

function Plot(props: ChartProps) {
  const { title, summary, kind, series, times, timeLabel, format, size = 'normal' } = props
  const { marks = [] } = props
  const { canvas, at, start, handlers } = usePointer(props)
  const top = niceTop(kind, series)
  const shapes = shapesOf(kind, series, top)
  const x = (step: number) => (times.length < 2 ? 0 : (step / (times.length - 1)) * WIDTH)
  const shareOf = (ms: number) =>
    Math.min(1, Math.max(0, (ms - times[0]!) / Math.max(1, times.at(-1)! - times[0]!)))
  const labels = new Set(QUARTERS.map((share) => Math.round(share * (times.length - 1))))
  const lines = bandsOf(top, format)
  const words = (step: number) =>
    series.map(({ label, values }) => `${label} ${valueText(values[step], format)}`).join(', ')
  return (
    <div class={size === 'normal' ? 'plot' : `plot ${size}`}>
      {marks.length > 0 && <Flags marks={marks} shareOf={shareOf} />}
      <div class="y" aria-hidden="true">
        {lines.map((value) => (
          <span key={value}>{format(value)}</span>
        ))}
      </div>
      <div
        class="canvas"
        ref={canvas}
        role="slider"
        tabIndex={0}
        aria-label={`${title}: a moment`}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, times.length - 1)}
        aria-valuenow={at ?? 0}
        aria-valuetext={
          at === undefined || times.length === 0
            ? summary
            : `${timeLabel(times[at]!)}: ${words(at)}`
        }
        {...handlers}
      >
        <svg
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={summary}
        >
          {lines.slice(0, -1).map((value) => (
            <path key={value} class="grid" d={`M0 ${HEIGHT * (1 - value / top)}H${WIDTH}`} />
          ))}
          <path class="base" d={`M0 ${HEIGHT}H${WIDTH}`} />
          {shapes.map((shape) => (
            <path key={shape.key} class={shape.class} d={shape.d} />
          ))}
          {marks.map(({ ms, label, isBad }) => (
            <path
              key={label}
              class={isBad ? 'mark bad' : 'mark'}
              d={`M${shareOf(ms) * WIDTH} 0V${HEIGHT}`}
            />
          ))}
          {start !== undefined && at !== undefined && (
            <rect
              class="band"
              x={Math.min(x(start), x(at))}
              width={Math.abs(x(at) - x(start))}
              y="0"
              height={HEIGHT}
            />
          )}
          {at !== undefined && <path class="hair" d={`M${x(at)} 0V${HEIGHT}`} />}
        </svg>
        {at !== undefined && times.length > 0 && (
          <Readout
            side={at > times.length / 2 ? 'left' : 'right'}
            share={x(at) / WIDTH}
            time={timeLabel(times[at]!)}
            rows={series.map(({ label, values }) => [label, valueText(values[at], format)])}
          />
        )}
      </div>
      <div class="x" aria-hidden="true">
        {times.length > 1 &&
          [...labels].map((step) => <span key={step}>{timeLabel(times[step]!)}</span>)}
      </div>
    </div>
  )
}

interface FlagsProps {
  readonly marks: readonly ChartMark[]
  readonly shareOf: (ms: number) => number
}

/** Labels of marks that are closer than this share of the width would overlap. */
const FLAG_SHARE = 0.2

/** The labels of marks, each on the side of its line that is wider. */
function Flags({ marks, shareOf }: FlagsProps) {
  const flags: (ChartMark & { readonly share: number })[] = []
  for (const mark of marks.toSorted((a, b) => Number(b.isBad ?? 0) - Number(a.isBad ?? 0))) {
    const share = shareOf(mark.ms)
    if (flags.every((flag) => Math.abs(flag.share - share) > FLAG_SHARE)) {
      flags.push({ ...mark, share })
    }
  }
  return (
    <div class="flags" aria-hidden="true">
      {flags.map(({ label, share, isBad }) => (
        <span
          key={label}
          class={isBad ? 'bad' : undefined}
          style={share < 0.5 ? { left: `${share * 100}%` } : { right: `${(1 - share) * 100}%` }}
        >
          {label}
        </span>
      ))}
    </div>
  )
}

const valueText = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? '–' : format(value)

interface ReadoutProps {
  readonly side: 'left' | 'right'
  readonly share: number
  readonly time: string
  readonly rows: readonly (readonly [label: string, value: string])[]
}

const Readout = ({ side, share, time, rows }: ReadoutProps) => (
  <div
    class="readout"
    aria-hidden="true"
    style={
      side === 'right'
        ? { left: `calc(${share * 100}% + 8px)` }
        : { right: `calc(${(1 - share) * 100}% + 8px)` }
    }
  >
    {time}
    <dl>
      {rows.map(([label, value]) => (
        <>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  </div>
)
