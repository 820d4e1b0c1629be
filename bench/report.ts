/** Results as text: conditions, one table per row, ratios and targets. Pure. */

import type { ExportResult } from './export.ts'
import type { Facts } from './row.ts'
import type { LoadResult, RatioResult } from './run.ts'
import type { StartResult, StartSideResult } from './start.ts'

export type Result = LoadResult | StartResult | ExportResult

export function reportOf(result: Result): string {
  const { row, faults } = result
  const body = linesOf(result)
  const broken = faults.map((fault) => `  BROKEN  ${fault}`)
  return [`row ${row.name} · ${row.title}`, `  ${factsOf(row.facts)}`, ...body, ...broken].join(
    '\n',
  )
}

function linesOf(result: Result): string[] {
  if (result.kind === 'load') return loadLines(result)
  return result.kind === 'start' ? startLines(result) : exportLines(result)
}

const factsOf = ({ durability, connections, users }: Facts) =>
  `durability: ${durability} · TLS: none · connections: ${connections} · rows: ${whole(users)}`

function loadLines({ sides, ratios }: LoadResult): string[] {
  const shared = sides.some(({ databaseMicros }) => databaseMicros !== undefined)
  const head = ['', 'per second', 'min–max', 'CPU µs', 'p50 ms', 'p99 ms', 'RSS MB', 'generator %']
  if (shared) head.push('database CPU µs')
  const table = sides.map(
    ({ name, rate, cpuMicros, databaseMicros, p50, p99, rssMb, generatorBusy }) => [
      name,
      whole(rate.median),
      `${whole(rate.min)}–${whole(rate.max)}`,
      figureText(cpuMicros, (value) => value.toFixed(1)),
      (p50 / 1000).toFixed(2),
      (p99 / 1000).toFixed(2),
      figureText(rssMb, whole),
      whole(generatorBusy * 100),
      ...(shared ? [figureText(databaseMicros, (value) => value.toFixed(1))] : []),
    ],
  )
  return [...columns([head, ...table]), ...ratios.map(ratioLine)]
}

function ratioLine({ of, to, figure, ratio, byCpu, least, most, met }: RatioResult): string {
  const range = `${ratio.median.toFixed(2)} (${ratio.min.toFixed(2)}–${ratio.max.toFixed(2)})`
  const bound = least === undefined ? `≤ ${most}` : `≥ ${least}`
  const cpu = figureText(byCpu, (value) => value.toFixed(2))
  const how = figure === 'p99' ? '(p99)' : `(by CPU ${cpu})`
  return `  ${of} ÷ ${to}: ${range}, target ${bound}: ${met ? 'met' : 'NOT MET'} ${how}`
}

function startLines({ sides }: StartResult): string[] {
  const head = ['', 'first response s', 'min–max', 'RSS at rest MB', 'min–max', 'target']
  const table = sides.map(({ name, seconds, restMb, atMost, met }: StartSideResult) => [
    name,
    seconds.median.toFixed(2),
    `${seconds.min.toFixed(2)}–${seconds.max.toFixed(2)}`,
    figureText(restMb?.median, whole),
    restMb ? `${whole(restMb.min)}–${whole(restMb.max)}` : '—',
    atMost
      ? `≤ ${atMost.seconds} s, ≤ ${atMost.restMb} MB: ${met ? 'met' : 'NOT MET'}`
      : 'for comparison',
  ])
  return columns([head, ...table])
}

function exportLines({ sides }: ExportResult): string[] {
  const head = ['', 'lines per second', 'min–max', 'CPU µs', 'more memory MB', 'target']
  const table = sides.map(({ name, rate, cpuMicros, growthMb, target, met }) => [
    name,
    whole(rate.median),
    `${whole(rate.min)}–${whole(rate.max)}`,
    figureText(cpuMicros?.median, (value) => value.toFixed(2)),
    figureText(growthMb?.median, whole),
    `≥ ${whole(target.rate)}, ≤ ${target.growthMb} MB: ${met ? 'met' : 'NOT MET'}`,
  ])
  return columns([head, ...table])
}

/** Aligns the first column to the left, figures to the right. */
function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((row) => row[at]!.length)))
  return rows.map((row) => {
    const cells = row.map((cell, at) => (at === 0 ? cell.padEnd(widths[0]!) : right(cell, at)))
    return `  ${cells.join('  ')}`.trimEnd()
  })
  function right(cell: string, at: number): string {
    return cell.padStart(widths[at]!)
  }
}

const whole = (value: number) => Math.round(value).toLocaleString('en')

const figureText = (value: number | undefined, show: (value: number) => string) =>
  value === undefined ? '—' : show(value)
