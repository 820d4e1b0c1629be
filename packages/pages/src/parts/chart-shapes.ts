/** Computes the paths of a chart: areas and bars on top of each other, or lines. Pure. */

export const WIDTH = 600
export const HEIGHT = 136

export type ShapeKind = 'area' | 'line' | 'bars'
export type SeriesTone = 'ok' | 'redirect' | 'client' | 'server' | 'a' | 'b' | 'c'

export interface Series {
  readonly name: string
  readonly label: string
  readonly tone: SeriesTone
  readonly dash?: 'dash' | 'dot'
  /** One value for each step, null for none. Areas and bars: the last series lies at the base. */
  readonly values: readonly (number | null)[]
  /** The total in the legend. */
  readonly total?: string
}

interface Shape {
  readonly key: string
  readonly class: string
  readonly d: string
}

const stepsOf = (series: readonly Series[]): number =>
  Math.max(0, ...series.map(({ values }) => values.length))

const STEPS = [1, 1.5, 2, 3, 4, 5, 6, 8, 10]

/** Returns a round number that is not below any value. */
export function niceTop(kind: ShapeKind, series: readonly Series[]): number {
  const steps = stepsOf(series)
  let top = 0
  for (let at = 0; at < steps; at++) {
    const values = series.map((each) => each.values[at] ?? 0)
    const highest = kind === 'line' ? Math.max(0, ...values) : values.reduce((a, b) => a + b, 0)
    top = Math.max(top, highest)
  }
  if (top <= 0) return 2
  const size = 10 ** Math.floor(Math.log10(top))
  const step = STEPS.find((step) => step * size >= top)!
  return step * size
}

/**
 * Returns the values of the horizontal lines, the highest first. Labels that round to the same text
 * leave the first and the last line.
 */
export function bandsOf(top: number, format: (value: number) => string): readonly number[] {
  const isThird = [1.5, 3, 6].some((step) => Number.isInteger(Math.log10(top / step)))
  const parts = isThird ? 3 : 2
  const values = Array.from({ length: parts + 1 }, (_, at) => (top * (parts - at)) / parts)
  return new Set(values.map(format)).size === values.length ? values : [top, 0]
}

const round = (value: number): string => String(Math.round(value * 10) / 10)

export function shapesOf(
  kind: ShapeKind,
  series: readonly Series[],
  top: number,
): readonly Shape[] {
  const y = (value: number) => HEIGHT * (1 - value / top)
  return kind === 'line' ? lines(series, y) : stack(kind, series, { y, steps: stepsOf(series) })
}

type Scale = (value: number) => number

/** A line is interrupted where there is no value. */
function lines(series: readonly Series[], y: Scale): Shape[] {
  return series.map(({ name, tone, dash, values }) => {
    const x = (at: number) => (values.length < 2 ? 0 : (at / (values.length - 1)) * WIDTH)
    let d = ''
    let isDrawing = false
    values.forEach((value, at) => {
      if (value === null) {
        isDrawing = false
        return
      }
      const isAlone = values[at + 1] === null || at === values.length - 1
      d += `${isDrawing ? 'L' : 'M'}${round(x(at))} ${round(y(value))}`
      // At the right edge the dash extends to the left, where it is visible.
      if (!isDrawing && isAlone) d += at > 0 && at === values.length - 1 ? 'h-4' : 'h4'
      isDrawing = true
    })
    return { key: name, class: `l k-${tone} ${dash ?? ''}`, d }
  })
}

interface Scales {
  readonly y: Scale
  /** The steps of the time axis. */
  readonly steps: number
}

/** Returns the number of steps up to the last one with a value. */
const lengthOf = (series: readonly Series[]): number =>
  Math.max(0, ...series.map(({ values }) => values.findLastIndex((value) => value !== null) + 1))

/** Stacks from the last series upwards, so that errors lie at the base line. */
function stack(kind: ShapeKind, series: readonly Series[], scales: Scales): Shape[] {
  const length = lengthOf(series)
  const base = new Array<number>(length).fill(0)
  const shapes: Shape[] = []
  for (const { name, tone, values } of [...series].reverse()) {
    const low = [...base]
    for (let at = 0; at < length; at++) base[at] = base[at]! + (values[at] ?? 0)
    const isHighest = shapes.length === series.length - 1
    const d = kind === 'bars' ? bars(low, base, scales) : area(low, base, scales)
    const calm = kind === 'area' && isHighest && series.length > 1 ? ' calm' : ''
    shapes.push({ key: name, class: `f k-${tone}${calm}`, d })
    if (calm) shapes.push({ key: `${name}-line`, class: `l k-${tone}`, d: outline(base, scales) })
  }
  return shapes
}

const at = (steps: number) => (step: number) =>
  steps < 2 ? (step === 0 ? 0 : WIDTH) : (step / (steps - 1)) * WIDTH

const outline = (high: readonly number[], { y, steps }: Scales): string => {
  const x = at(steps)
  return high.length === 0
    ? ''
    : `M${high.map((value, step) => `${round(x(step))} ${round(y(value))}`).join('L')}`
}

function area(low: readonly number[], high: readonly number[], scales: Scales): string {
  if (high.length === 0 || high.every((value, step) => value === low[step])) return ''
  const x = at(scales.steps)
  const back = low.map((value, step) => `${round(x(step))} ${round(scales.y(value))}`).reverse()
  return `${outline(high, scales)}L${back.join('L')}Z`
}

function bars(low: readonly number[], high: readonly number[], { y, steps }: Scales): string {
  const width = WIDTH / Math.max(1, steps)
  const gap = Math.min(2, width * 0.2)
  let d = ''
  high.forEach((value, step) => {
    const from = low[step]!
    if (value <= from) return
    const x = step * width + gap / 2
    const [upper, lower] = [y(value), y(from)]
    const height = Math.max(1, lower - upper)
    const across = round(width - gap)
    d += `M${round(x)} ${round(lower - height)}h${across}v${round(height)}h-${across}z`
  })
  return d
}
