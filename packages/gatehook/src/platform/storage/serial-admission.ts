/**
 * Admits serializable transactions of this process. First runs are concurrent. A repeated run is
 * alone among those of its customer, whose rows it conflicts with, and after another repetition
 * alone in this process. So the conflicts of one customer delay no other (decision 0068). Contains
 * no database access.
 */
import type { TurnKey } from '../../kernel/turns.ts'

/** From this attempt on, a run is alone in this process: indexes of small tables share pages. */
const ALONE_IN_PROCESS = 3

export interface SerialAdmission {
  /**
   * Runs `body`, the run number `attempt` of a transaction.
   *
   * @param isRepeated whether the run has to be alone
   */
  run<T>(
    customer: TurnKey | undefined,
    run: { readonly attempt: number; readonly isRepeated: boolean },
    body: () => Promise<T>,
  ): Promise<T>
}

export function createSerialAdmission(): SerialAdmission {
  const everyone = createSharedLock()
  const locks = new Map<TurnKey | undefined, SharedLock>()
  const lockOf = (customer: TurnKey | undefined): SharedLock => {
    let lock = locks.get(customer)
    if (!lock) locks.set(customer, (lock = createSharedLock(() => locks.delete(customer))))
    return lock
  }
  return {
    run(customer, { attempt, isRepeated }, body) {
      const lock = lockOf(customer)
      if (!isRepeated) return lock.together(() => everyone.together(body))
      const admit = attempt < ALONE_IN_PROCESS ? everyone.together : everyone.alone
      return lock.alone(() => admit(body))
    },
  }
}

interface SharedLock {
  /** Runs `body` beside others, after the bodies that arrived earlier and run alone. */
  together<T>(body: () => Promise<T>): Promise<T>
  /** Runs `body` after all bodies that arrived earlier, and before those that arrive later. */
  alone<T>(body: () => Promise<T>): Promise<T>
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
    alone(body) {
      const running = Promise.all([last, ...others]).then(body)
      others = new Set()
      last = endOf(running, (end) => {
        if (last === end) last = undefined
      })
      return running
    },
  }
}
