/**
 * How long a transaction of a customer waits: for its turn, a connection, and the locks of others.
 * The server limits each wait for a lock. This limits their sum, so that a lock that another
 * program holds delays no request for longer, whatever waits before it (§18.1). Pure.
 */

/** The time that a statement waits for a lock, and that a transaction waits in all. */
export const LOCK_MS = 5_000
/** The least time for a lock, also of a transaction that has waited for long. */
export const LEAST_LOCK_MS = 1_000

export class LockWait {
  #waitedMs: number
  /** Whether its current statement was ended if it waited for a lock. */
  isCancelled = false
  /** Returns the failure of another wait for a lock that is the reason of this one. */
  findReason: () => unknown = () => undefined

  constructor(waitedMs = 0) {
    this.#waitedMs = waitedMs
  }

  add(ms: number): void {
    this.#waitedMs += ms
  }

  get waitedMs(): number {
    return this.#waitedMs
  }

  /** Throws the reason instead of a further wait, if a lock would get the least time. */
  refuseIfOver(): void {
    const reason = this.#waitedMs >= LOCK_MS - LEAST_LOCK_MS ? this.findReason() : undefined
    if (reason !== undefined) throw reason
  }

  /** The `lock_timeout` of the next statements; undefined: that of the session. */
  get limitMs(): number | undefined {
    if (this.#waitedMs < LEAST_LOCK_MS) return undefined
    return Math.max(LEAST_LOCK_MS, LOCK_MS - Math.floor(this.#waitedMs))
  }
}
