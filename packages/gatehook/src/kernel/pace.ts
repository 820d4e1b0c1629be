/**
 * Pauses the long work of an owner (a customer) on the thread that the requests of others need
 * (§11.5). Alone, an owner uses all of the time; beside others, its share. Batches of the
 * installation rest after each one.
 */
import type { Clock } from './clock.ts'
import type { Share } from './share.ts'
import type { TurnKey } from './turns.ts'

/** Work between two pauses, for which the requests of others wait. */
const PART_MS = 2
/** Less work only pauses: it neither counts nor rests, unless its owner rests. */
const LONG_WORK_MS = 4
/**
 * The part of the time for the long work of an owner while another one is active: so little that
 * the p95 of others is that of a quiet machine. An owner rests at most five seconds.
 */
export const BESIDE_OTHERS = { part: 0.04, isBesideOthers: true, restMaxMs: 5_000 } as const

/** Called between the parts of long work; returns a promise when a pause is due. */
export type Pace = () => Promise<void> | undefined

/**
 * Returns the pace of work that begins now. A part begins when the owner has rested, also for its
 * other work: any number of requests has one share. `isOfLong`: it is a part of long work, and
 * counts however short it is.
 */
export function startPace(
  owner: TurnKey,
  share: Pick<Share, 'addWork' | 'restMs'>,
  clock: Pick<Clock, 'elapsedMs'>,
  pause: (ms: number) => Promise<void>,
  isOfLong = false,
): Pace {
  let sinceMs = clock.elapsedMs()
  let uncountedMs = 0
  let isLong = isOfLong
  const rest = async (ms: number) => {
    for (let restMs = ms; ; ) {
      await pause(restMs)
      restMs = share.restMs(owner)
      if (restMs <= 0) break
    }
    sinceMs = clock.elapsedMs()
  }
  return () => {
    const workMs = clock.elapsedMs() - sinceMs
    if (workMs < PART_MS && !isOfLong) return undefined
    uncountedMs += workMs
    isLong ||= uncountedMs >= LONG_WORK_MS || share.restMs(owner) > 0
    if (!isLong) return rest(0)
    const longMs = uncountedMs
    uncountedMs = 0
    return rest(share.addWork(owner, longMs))
  }
}

/** Resolves after `ms`, and after the event loop has run other requests. */
export const pauseLoop = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    if (ms > 0) setTimeout(resolve, ms)
    else setImmediate(resolve)
  })

/** The rest after a batch, as a multiple of its time. */
export const BATCH_REST = 3

/** Called after each bounded part of a check: reports the progress, and resolves after a rest. */
export type OnPart = (done: number, all: number, unit?: string) => Promise<void>
