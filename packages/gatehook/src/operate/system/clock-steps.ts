/** Warns of a step of the machine's clock, which may be a mistake: see `SteadyClock` (§18.10). */
import { type Clock, DOUBT_MS } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { readLastReport } from '../../platform/nodes/registry.ts'
import type { Database } from '../../platform/storage/database.ts'
import { isInstalled } from '../../platform/storage/settings.ts'
import type { HealthCheck } from './health.ts'

/** After a shorter pause, nothing that a running service has promised ends too early. */
const PAUSE_MS = 86_400_000

export interface ClockSteps {
  /** Whether expired rows stay for now. */
  isHeld(): boolean
  readonly warning: HealthCheck
}

/** At a start, doubts a clock that is more than a day beside the last report of any node. */
export async function doubtPause(db: Database, clock: Clock): Promise<void> {
  if (!(await isInstalled(db))) return
  const last = await readLastReport(db)
  if (!last) return
  const { seenAt, doubt = { byMs: 0, leftMs: 0 } } = last
  const gapMs = clock.now() - seenAt
  const stepMs = gapMs + doubt.byMs
  if (Math.abs(stepMs) <= PAUSE_MS) return
  // A clock that goes on by the step that was doubted is doubted for the rest of that day.
  if (Math.abs(gapMs) > PAUSE_MS) clock.doubt?.(stepMs, DOUBT_MS)
  else if (doubt.leftMs > gapMs) clock.doubt?.(doubt.byMs, doubt.leftMs - Math.max(0, gapMs))
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
