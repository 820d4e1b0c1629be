/**
 * Figures of a run in one form, whichever command measured them: the data of the performance page.
 * Pure, except for `writeFigures`.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { DatabaseName } from './database.ts'
import type { Result } from './report.ts'
import { type Spread, spread } from './statistics.ts'

export interface Figure {
  /** The row of `bench/README.md`: `1@100k`. */
  readonly row: string
  readonly title: string
  /** The two sides of the value: `gatehook ÷ hello`. */
  readonly subject: string
  readonly database: DatabaseName
  /** `ratio`: of rates; `ratio of p99`, `ratio of p95`: of latencies. */
  readonly unit: 'ratio' | 'ratio of p99' | 'ratio of p95' | 's' | 'MB' | 'rows per s' | 'µs CPU'
  readonly value: Spread
  /** The ratio of CPU time, of the database too: more stable on a busy machine. */
  readonly byCpu?: number | undefined
  readonly least?: number | undefined
  readonly most?: number | undefined
}

/** Returns whether a figure reaches its target; undefined without a target. */
export function isReached({ value, least, most }: Figure): boolean | undefined {
  if (least === undefined && most === undefined) return undefined
  const { median } = value
  return median >= (least ?? Number.NEGATIVE_INFINITY) && median <= (most ?? median)
}

/** Returns the figures of a row of `npm run bench`. */
export function figuresOf(result: Result, database: DatabaseName): Figure[] {
  const { name, title } = result.row
  const common = { row: name, title, database }
  if (result.kind === 'load') {
    return result.ratios.map(({ of, to, figure, ratio, byCpu, least, most }) => ({
      ...common,
      subject: `${of} ÷ ${to}`,
      unit: figure === 'p99' ? 'ratio of p99' : 'ratio',
      value: ratio,
      byCpu,
      least,
      most,
    }))
  }
  if (result.kind === 'export') {
    return result.sides.flatMap(({ name: subject, rate, growthMb, target }): Figure[] => [
      { ...common, subject, unit: 'rows per s', value: rate, least: target.rate },
      ...(growthMb
        ? [{ ...common, subject, unit: 'MB' as const, value: growthMb, most: target.growthMb }]
        : []),
    ])
  }
  return result.sides.flatMap(({ name: subject, seconds, restMb, atMost }): Figure[] => [
    { ...common, subject, unit: 's', value: seconds, most: atMost?.seconds },
    ...(restMb
      ? [{ ...common, subject, unit: 'MB' as const, value: restMb, most: atMost?.restMb }]
      : []),
  ])
}

/** Returns a ratio of rates, measured in pairs. */
export function ratioFigure(
  figure: Omit<Figure, 'unit' | 'value'> & { readonly unit?: Figure['unit'] },
  of: readonly number[],
  to: readonly number[],
): Figure {
  const { unit = 'ratio', ...rest } = figure
  return { ...rest, unit, value: spread(of.map((value, round) => value / to[round]!)) }
}

/** Writes figures to the file of the option `--figures`, if it was given. */
export function writeFigures(file: string | undefined, figures: readonly Figure[]): void {
  if (file === undefined) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`)
}
