/** Warns of a step of the machine's clock, which may be a mistake: see `SteadyClock` (§18.10). */
import type { Clock } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { readLastReport } from '../../platform/nodes/registry.ts'
import type { Reader } from '../../platform/storage/database.ts'
import type { HealthCheck } from './health.ts'

/** After a shorter pause, nothing that a running service has promised ends too early. */
const PAUSE_MS = 86_400_000

export interface ClockSteps {
  /** Whether expired rows stay for now. */
  isHeld(): boolean
  readonly warning: HealthCheck
}

/** At a start, doubts a clock by which no node has run for more than a day. */
export async function doubtPause(db: Reader, clock: Clock): Promise<void> {
  const pauseMs = clock.now() - (await readLastReport(db))
  if (pauseMs > PAUSE_MS && pauseMs !== Infinity) clock.doubt?.(pauseMs)
}

export function createClockSteps(clock: Clock, log: Pick<Log, 'warn'>): ClockSteps {
  let warnedMs: number | undefined
  const describe = (): string | undefined => {
    const step = clock.step?.()
    if (!step) return undefined
    const minutes = Math.round(step.byMs / 60_000)
    const sentence =
      `The clock of this machine was set ${minutes > 0 ? 'forward' : 'back'} by ` +
      `${Math.abs(minutes).toLocaleString('en')} minutes, or no node has run for as long. For 24 ` +
      'hours, the service ends and purges nothing by the new time. If the clock is wrong, set it.'
    if (step.sinceMs !== warnedMs) log.warn(sentence)
    warnedMs = step.sinceMs
    return sentence
  }
  return { isHeld: () => describe() !== undefined, warning: describe }
}
