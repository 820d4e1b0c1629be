/** Progress of long operations: one line each second, with rows, rate and time left. */
import type { Clock } from '../kernel/clock.ts'
import { formatCount, type Output } from './output.ts'

const EVERY_MS = 1_000

export interface ProgressReport {
  /** The step: `copy`. A new step starts its own rate. */
  readonly step: string
  /** Of the step, 0 to 1. */
  readonly fraction: number
  readonly rows: number
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

/** `copy: 1,200,000 of 2,400,000 rows (50 %), 600,000 rows/s, 2 s left` */
export function progressLine({ step, fraction, rows }: ProgressReport, elapsedS: number): string {
  const done = Math.round(rows * fraction)
  const percent = Math.floor(fraction * 100)
  const share = `${step}: ${formatCount(done)} of ${formatCount(rows)} rows (${percent} %)`
  if (elapsedS === 0 || done === 0) return share
  const rate = done / elapsedS
  const left = fraction < 1 ? `, ${Math.ceil((rows - done) / rate)} s left` : ''
  return `${share}, ${formatCount(Math.round(rate))} rows/s${left}`
}
