/** Progress of long operations: one line each second, with rows, rate and time left. */
import type { Clock } from '../kernel/clock.ts'
import { formatCount, type Output } from './output.ts'

const EVERY_MS = 1_000

export interface ProgressReport {
  /** The step: `copy`. A new step starts its own rate. */
  readonly step: string
  /** Of the step, 0 to 1. */
  readonly fraction: number
  /** All rows of the step; undefined where nothing counts them. */
  readonly rows?: number
  /** The rows so far. Default: the fraction of all rows. */
  readonly done?: number
  /** The unit of the counts. Default: rows. */
  readonly unit?: string
}

/**
 * Returns a function that reports to standard error, at most once a second. A step that lasts less
 * than a second prints nothing.
 */
export function createProgress(
  out: Pick<Output, 'progress'>,
  clock: Pick<Clock, 'elapsedMs'>,
): (report: ProgressReport) => void {
  let step: string | undefined
  let startedMs = 0
  let printedMs = 0
  return (report) => {
    const nowMs = clock.elapsedMs()
    if (report.step !== step) {
      step = report.step
      startedMs = nowMs
      printedMs = nowMs
    }
    if (nowMs - printedMs < EVERY_MS) return
    printedMs = nowMs
    out.progress(progressLine(report, (nowMs - startedMs) / 1_000))
  }
}

/**
 * `copy: 1,200,000 of 2,400,000 rows (50 %), 600,000 rows/s, 2 s left`, or `import: 200 rows
 * (12 %), …` without the number of all rows.
 */
export function progressLine(report: ProgressReport, elapsedS: number): string {
  const { step, fraction, rows, unit = 'rows' } = report
  const done = report.done ?? Math.round((rows ?? 0) * fraction)
  const all = rows === undefined ? '' : ` of ${formatCount(rows)}`
  const percent = Math.floor(fraction * 100)
  const share = `${step}: ${formatCount(done)}${all} ${unit} (${percent} %)`
  if (elapsedS === 0 || done === 0) return share
  const leftS = Math.ceil((elapsedS * (1 - fraction)) / fraction)
  const left = percent > 0 && percent < 100 ? `, ${leftS} s left` : ''
  return `${share}, ${formatCount(Math.round(done / elapsedS))} ${unit}/s${left}`
}
