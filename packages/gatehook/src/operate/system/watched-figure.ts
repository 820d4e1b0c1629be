/** A figure of the machine that runs out: a warning, a line of the log when it begins, metrics. */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import type { HealthCheck, HealthResult } from './health.ts'

export interface FigureWatch {
  /** A warning for `/readyz`. */
  readonly warning: HealthCheck
  readonly metrics: readonly Metric[]
}

export interface FigureWatchOptions {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly log: Log
}

interface WatchedFigure<T> {
  /** Undefined where the machine does not tell it. */
  readonly read: () => T | undefined
  /** Returns the warning; undefined while enough is left. */
  readonly describe: (figure: T) => HealthResult
  /** Gauges: name, help, and value of a figure. */
  readonly gauges: readonly (readonly [
    name: string,
    help: string,
    value: (figure: T) => number | undefined,
  ])[]
}

/** The figure is read again after this time: probes request the warning each second. */
const VALID_MS = 5_000

export function watchFigure<T>(
  { clock, log }: FigureWatchOptions,
  { read, describe, gauges }: WatchedFigure<T>,
): FigureWatch {
  let last: { readonly atMs: number; readonly result: HealthResult } | undefined
  return {
    warning() {
      if (last && clock.elapsedMs() - last.atMs < VALID_MS) return last.result
      const figure = read()
      const result = figure && describe(figure)
      if (result && !last?.result) log.warn(typeof result === 'string' ? result : result.detail)
      last = { atMs: clock.elapsedMs(), result }
      return result
    },
    metrics: gauges.map(([name, help, measure]) => ({
      ...{ name, help, type: 'gauge' },
      read() {
        const figure = read()
        const value = figure && measure(figure)
        return value === undefined ? [] : [{ value }]
      },
    })),
  }
}
