/**
 * Shares one thread, or one writer, between the long work of an owner (a customer) and the requests
 * of others (§11.5). Alone, an owner uses all of it; beside others, a part.
 */
import type { Clock } from './clock.ts'
import type { TurnKey } from './turns.ts'

/** Work between two pauses. */
const PART_MS = 10
/** A rest ends after this time, also when a part took longer because the machine is busy. */
const REST_MAX_MS = 5_000
/** An owner counts as active for this time after a request. */
const ACTIVE_MS = 1_000
/** Resting owners that are remembered before those whose rest has ended are removed. */
const RESTING_KEPT = 1_000

/** Remembers which owners were active last. */
export interface Activity {
  /** Notes a request of an owner. */
  note(owner: TurnKey): void
  /**
   * Adds work of an owner and returns how long it rests, in milliseconds: the rests of all work
   * that an owner does at once add up. 0 while no other owner is active.
   */
  addWork(owner: TurnKey, workMs: number): number
  /** Returns how long an owner still rests, in milliseconds. */
  restMs(owner: TurnKey): number
}

/**
 * @param part the part of the time in which an owner may work beside others: with 0.1, 10 ms of
 *   work are followed by 90 ms of rest
 */
export function createActivity(clock: Pick<Clock, 'elapsedMs'>, part: number): Activity {
  let latest: { readonly owner?: TurnKey; atMs: number } = { atMs: Number.NEGATIVE_INFINITY }
  /** The last one of another owner than `latest`. */
  let other = latest
  /** When the rest of an owner ends. */
  const restUntilMs = new Map<TurnKey, number>()
  const isAlone = (owner: TurnKey): boolean => {
    const { atMs } = latest.owner === owner ? other : latest
    return clock.elapsedMs() - atMs >= ACTIVE_MS
  }
  const leftMs = (owner: TurnKey) => Math.max(0, (restUntilMs.get(owner) ?? 0) - clock.elapsedMs())
  return {
    note(owner) {
      const atMs = clock.elapsedMs()
      if (latest.owner === owner) {
        latest.atMs = atMs
        return
      }
      other = latest
      latest = { owner, atMs }
    },
    addWork(owner, workMs) {
      if (isAlone(owner)) return 0
      const nowMs = clock.elapsedMs()
      const ms = Math.min(REST_MAX_MS, leftMs(owner) + workMs * (1 / part - 1))
      restUntilMs.set(owner, nowMs + ms)
      if (restUntilMs.size > RESTING_KEPT) {
        for (const [key, untilMs] of restUntilMs) if (untilMs <= nowMs) restUntilMs.delete(key)
      }
      return ms
    },
    restMs: (owner) => (isAlone(owner) ? 0 : leftMs(owner)),
  }
}

/** Called between the parts of long work; returns a promise when a pause is due. */
export type Pace = () => Promise<void> | undefined

/** Returns the pace of work that begins now. */
export function startPace(
  owner: TurnKey,
  activity: Activity,
  clock: Pick<Clock, 'elapsedMs'>,
  pause: (ms: number) => Promise<void>,
): Pace {
  let sinceMs = clock.elapsedMs()
  return () => {
    const workMs = clock.elapsedMs() - sinceMs
    if (workMs < PART_MS) return undefined
    return pause(activity.addWork(owner, workMs)).then(() => {
      sinceMs = clock.elapsedMs()
    })
  }
}

/** Resolves after `ms`, and after the event loop has run other requests. */
export const pauseLoop = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    if (ms > 0) setTimeout(resolve, ms)
    else setImmediate(resolve)
  })

/** Called after each bounded part of a check: reports the progress, and resolves after a rest. */
export type OnPart = (done: number, all: number, unit?: string) => Promise<void>
