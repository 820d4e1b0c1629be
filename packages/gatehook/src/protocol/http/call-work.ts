/**
 * Counts the work of a request on the thread of all requests (§11.5). The first 64 KiB of JSON are
 * the work of any request; the caller's group rests for more. Other requests run after each 64 KiB.
 */
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Clock } from '../../kernel/clock.ts'
import type { Share } from '../../kernel/share.ts'
import type { TurnKey } from '../../kernel/turns.ts'

/** Bytes of a response that cost a millisecond of this thread, from read to socket. */
const BYTES_PER_MS = 40_000
/** The work of any request, and between two turns of other requests. */
const PART_BYTES = 65_536

/** Thrown by work that is more than that of any request while the caller's group rests. */
export class TurnRequired extends Error {}

export interface CallWork {
  /** Returns an encoder whose time the next `count` includes. */
  measure<A extends readonly unknown[]>(encode: (...input: A) => string): (...input: A) => string
  /**
   * Counts bytes that were read or encoded, whether or not the response contains them; their work
   * is the measured time, if that is more. Resolves after other requests have run; undefined while
   * they need no turn.
   */
  count(bytes: number): Promise<void> | undefined
}

/**
 * Creates the work of a request of a group. `waits`: throws `TurnRequired` where the work exceeds
 * that of any request, if the group rests then.
 */
export function createCallWork(
  group: TurnKey,
  share: Pick<Share, 'addWork' | 'restMs'>,
  clock: Pick<Clock, 'elapsedMs'>,
  waits = false,
): CallWork {
  let measuredMs = 0
  let all = 0
  let part = 0
  return {
    measure:
      (encode) =>
      (...input) => {
        const fromMs = clock.elapsedMs()
        const text = encode(...input)
        measuredMs += clock.elapsedMs() - fromMs
        return text
      },
    count(bytes) {
      const more = Math.max(bytes, measuredMs * BYTES_PER_MS)
      measuredMs = 0
      const countedBytes = Math.max(all, PART_BYTES)
      const begins = all <= PART_BYTES && all + more > PART_BYTES
      if (waits && begins && share.restMs(group) > 0) throw new TurnRequired()
      all += more
      part += more
      if (all > countedBytes) share.addWork(group, (all - countedBytes) / BYTES_PER_MS)
      if (part < PART_BYTES) return undefined
      part = 0
      return nextTick()
    },
  }
}
