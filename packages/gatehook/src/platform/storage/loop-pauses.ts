/**
 * Pauses between the statements of a long transaction on SQLite, in which reads and other requests
 * run (§11.5): its statements are synchronous, and awaiting one alone runs no other request.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'

/** Work between two pauses. The longest statement inserts 256 words. */
const WORK_MS = 4

export interface LoopPauses {
  /** Begins to measure; other requests have just run. */
  begin(): void
  /** Resolves after a pause; undefined while none is due. */
  pauseIfDue(): Promise<void> | undefined
}

export function createLoopPauses(clock: Pick<Clock, 'elapsedMs'>): LoopPauses {
  let sinceMs = clock.elapsedMs()
  const begin = () => {
    sinceMs = clock.elapsedMs()
  }
  return {
    begin,
    pauseIfDue: () => (clock.elapsedMs() - sinceMs < WORK_MS ? undefined : nextTick().then(begin)),
  }
}
