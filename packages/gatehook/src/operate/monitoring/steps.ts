/**
 * The steps of series: their length, how long each is stored, and the step of a range. Each step is
 * stored for twice its longest range, so that totals of the preceding range exist. Pure.
 */
import { parameterFailure } from '../../protocol/http/query.ts'

export interface SeriesStep {
  readonly seconds: number
  /** The longest range that it serves. */
  readonly rangeS: number
  readonly retentionS: number
}

const MINUTE_S = 60
const HOUR_S = 3600
const DAY_S = 86_400

const stepOf = (
  seconds: number,
  rangeS: number,
  retentionS = 2 * (rangeS + 2 * seconds),
): SeriesStep => ({
  seconds,
  rangeS,
  retentionS,
})

/** The shortest first. */
export const SERIES_STEPS: readonly SeriesStep[] = [
  stepOf(15, HOUR_S),
  stepOf(15 * MINUTE_S, DAY_S),
  stepOf(2 * HOUR_S, 7 * DAY_S),
  stepOf(6 * HOUR_S, 30 * DAY_S),
  stepOf(DAY_S, 400 * DAY_S, 400 * DAY_S),
]

/** The steps of counts of errors. */
export const ERROR_STEPS: readonly SeriesStep[] = [
  stepOf(15 * MINUTE_S, DAY_S),
  stepOf(6 * HOUR_S, 30 * DAY_S),
]

/** The shortest step, by which counts are collected in memory. */
export const SHORTEST_STEP_S = SERIES_STEPS[0]!.seconds

/** A range in epoch seconds, aligned to its step; `toS` is exclusive. */
export interface SeriesRange {
  readonly fromS: number
  readonly toS: number
  readonly stepS: number
}

/** The clocks of client and server differ, so a range may be one step longer. */
const fits = ({ rangeS, seconds }: SeriesStep, lengthS: number): boolean =>
  lengthS <= rangeS + seconds

/** Returns the start of the step that contains an instant. */
export const stepStart = (epochS: number, stepS: number): number => epochS - (epochS % stepS)

/**
 * Returns a range, aligned outwards.
 *
 * @param requestedS the step that the request names; default: the shortest that serves the range
 * @throws `invalid_parameter` for an unknown step, and for one with too many values
 */
export function seriesRange(
  { fromMs, toMs, requestedS }: { fromMs: number; toMs: number; requestedS: number | undefined },
  steps: readonly SeriesStep[] = SERIES_STEPS,
): SeriesRange {
  const lengthS = (toMs - fromMs) / 1000
  if (!(lengthS > 0)) throw parameterFailure('invalid_parameter', 'to', 'must be after from')
  const fitting = steps.find((step) => fits(step, lengthS))
  if (!fitting) {
    const days = steps.at(-1)!.rangeS / DAY_S
    throw parameterFailure('invalid_parameter', 'from', `must be at most ${days} days before to`)
  }
  const step =
    requestedS === undefined ? fitting : steps.find(({ seconds }) => seconds === requestedS)
  if (!step) {
    const lengths = steps.map(({ seconds }) => seconds).join(', ')
    throw parameterFailure('invalid_parameter', 'step', `must be one of ${lengths}`)
  }
  if (!fits(step, lengthS)) {
    const least = fitting.seconds
    throw parameterFailure('invalid_parameter', 'step', `must be at least ${least} for this range`)
  }
  const stepS = step.seconds
  const fromS = stepStart(Math.floor(fromMs / 1000), stepS)
  const lastS = stepStart(Math.ceil(toMs / 1000) - 1, stepS)
  return { fromS, toS: lastS + stepS, stepS }
}
