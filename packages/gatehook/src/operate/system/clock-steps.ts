/**
 * Steps of the machine's clock while the process runs, against the monotonic clock. A step may be a
 * mistake that is soon put right, and purged rows never return: nothing is purged for a day after
 * it (§18.10). A suspended machine looks the same.
 */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import type { HealthCheck } from './health.ts'

/** Smaller steps, such as those of a leap second or a slow adjustment, change no purge. */
const STEP_MIN_MS = 600_000
const HOLD_MS = 86_400_000

export interface ClockSteps {
  /** Whether expired rows stay for now. */
  isHeld(): boolean
  readonly warning: HealthCheck
}

/** @param clock of the machine */
export function createClockSteps(clock: Clock, log: Pick<Log, 'warn'>): ClockSteps {
  const offset = () => clock.now() - clock.elapsedMs()
  /** The difference of both clocks that has lasted. */
  let trustedMs = offset()
  let stepped: { readonly offsetMs: number; readonly untilMs: number } | undefined
  const describe = (): string | undefined => {
    const offsetMs = offset()
    const isStep = Math.abs(offsetMs - trustedMs) >= STEP_MIN_MS
    if (!isStep || clock.elapsedMs() >= (stepped?.untilMs ?? Number.POSITIVE_INFINITY)) {
      trustedMs = offsetMs
      stepped = undefined
      return undefined
    }
    const isNew = !stepped || Math.abs(offsetMs - stepped.offsetMs) >= STEP_MIN_MS
    if (isNew) stepped = { offsetMs, untilMs: clock.elapsedMs() + HOLD_MS }
    const minutes = Math.round((offsetMs - trustedMs) / 60_000)
    const sentence =
      `The clock of this machine was set ${minutes > 0 ? 'forward' : 'back'} by ` +
      `${Math.abs(minutes).toLocaleString('en')} minutes, or the machine was suspended: nothing ` +
      'that expires is purged for 24 hours. If the clock is wrong, set it.'
    if (isNew) log.warn(sentence)
    return sentence
  }
  return { isHeld: () => describe() !== undefined, warning: describe }
}
