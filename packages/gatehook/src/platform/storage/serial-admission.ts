/**
 * Admits serializable transactions of this process. First runs are concurrent. A repeated run is
 * alone among those of its customer, whose rows it conflicts with, and after another repetition
 * for a short time alone in this process. So the conflicts of one customer delay no other (decision
 * 0068). Contains no database access.
 */
import { customerOfGroup } from '../../kernel/caller-group.ts'
import type { Clock } from '../../kernel/clock.ts'
import { createShare } from '../../kernel/share.ts'
import type { Rests, TurnKey } from '../../kernel/turns.ts'

/** From this attempt on, a run is alone in this process: indexes of small tables share pages. */
const ALONE_IN_PROCESS = 3
/** Others wait for a run that is alone, and it waits for them, at most for this time. */
export const ALONE_MAX_MS = 200
/** The part of the time in which one customer has the process alone, after a burst. */
const ALONE_PART = 0.1
const ALONE_BURST_MS = 1_000

type RunBody = <T>(body: () => Promise<T>) => Promise<T>

interface SerialRun {
  /** The number of the run of its transaction. */
  readonly attempt: number
  /** Whether the run has to be alone. */
  readonly isRepeated: boolean
  /** Runs a body in the turn of the customer: a queue of its own. */
  readonly takeTurn: RunBody
}

export interface SerialAdmission {
  /** Runs `body`, a run of a transaction of `group`: the callers of a customer. */
  run<T>(group: TurnKey | undefined, run: SerialRun, body: () => Promise<T>): Promise<T>
}

export function createSerialAdmission(
  clock: Pick<Clock, 'elapsedMs'>,
  after: Rests['after'],
): SerialAdmission {
  const everyone = createSharedLock()
  const locks = new Map<TurnKey | undefined, SharedLock>()
  const share = createShare({ clock, part: ALONE_PART, burstMs: ALONE_BURST_MS })
  const lockOf = (customer: TurnKey | undefined): SharedLock => {
    let lock = locks.get(customer)
    if (!lock) locks.set(customer, (lock = createSharedLock(() => locks.delete(customer))))
    return lock
  }
  const aloneInProcess = async <T>(key: TurnKey, body: () => Promise<T>): Promise<T> => {
    if (share.restMs(key) > 0) return everyone.together(body)
    const sinceMs = clock.elapsedMs()
    const limit = new Promise<void>((resolve) => after(ALONE_MAX_MS, resolve))
    try {
      return await everyone.alone(body, limit)
    } finally {
      share.addWork(key, Math.min(clock.elapsedMs() - sinceMs, ALONE_MAX_MS))
    }
  }
  return {
    run(group, { attempt, isRepeated, takeTurn }, body) {
      const customer = group === undefined ? undefined : customerOfGroup(group)
      const lock = lockOf(customer)
      // The lock of the process is the last one: no holder waits in the queue of its customer.
      const together = () => takeTurn(() => everyone.together(body))
      if (!isRepeated) return lock.together(together)
      if (attempt < ALONE_IN_PROCESS) return lock.alone(together)
      return lock.alone(() => takeTurn(() => aloneInProcess(customer ?? '', body)))
    },
  }
}

interface SharedLock {
  /** Runs `body` beside others, after the bodies that arrived earlier and run alone. */
  together: RunBody
  /**
   * Runs `body` after all bodies that arrived earlier, and before those that arrive later. Once
   * `limit` resolves, neither waits for the other.
   */
  alone<T>(body: () => Promise<T>, limit?: Promise<void>): Promise<T>
}

/**
 * Creates a lock in the order of arrival: no body waits for one that arrives later. `onFree` runs
 * when its last body has ended.
 */
function createSharedLock(onFree: () => void = () => {}): SharedLock {
  /** Ends with the last body that runs alone, or waits for it. */
  let last: Promise<void> | undefined
  /** The bodies that arrived after it; they end with their promise. */
  let others = new Set<Promise<void>>()
  const endOf = (running: Promise<unknown>, remove: (end: Promise<void>) => void) => {
    const end: Promise<void> = running
      .catch(() => undefined)
      .then(() => {
        remove(end)
        if (!last && others.size === 0) onFree()
      })
    return end
  }
  return {
    together(body) {
      const running = last ? last.then(body) : body()
      others.add(endOf(running, (end) => others.delete(end)))
      return running
    },
    alone(body, limit) {
      const earlier: Promise<unknown> = Promise.all([last, ...others])
      const running = (limit ? Promise.race([earlier, limit]) : earlier).then(body)
      others = new Set()
      last = endOf(limit ? Promise.race([running, limit]) : running, (end) => {
        if (last === end) last = undefined
      })
      return running
    },
  }
}
