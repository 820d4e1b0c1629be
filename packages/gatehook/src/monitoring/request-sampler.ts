/**
 * Decides which requests the log stores when there are more than it can store (rates below). Errors
 * have a budget of their own, so that a flood of successes never displaces them. Pure.
 */

/** Requests of one second that are all stored; of more, an evenly spaced sample of this size. */
const SAMPLED_ABOVE_PER_S = 500

/** Counts the requests of one outcome. */
class OutcomeBudget {
  #count = 0
  #stored = 0
  /** Stores every n-th request; from the count of the previous second. */
  #stride = 1

  startSecond(isConsecutive: boolean): void {
    this.#stride = isConsecutive ? Math.max(1, Math.ceil(this.#count / SAMPLED_ABOVE_PER_S)) : 1
    this.#count = 0
    this.#stored = 0
  }

  take(): boolean {
    const isTaken = this.#count++ % this.#stride === 0 && this.#stored < SAMPLED_ABOVE_PER_S
    if (isTaken) this.#stored++
    return isTaken
  }
}

/** Returns a function that decides on one request at a monotonic instant in milliseconds. */
export function createRequestSampler(): (elapsedMs: number, isError: boolean) => boolean {
  const errors = new OutcomeBudget()
  const others = new OutcomeBudget()
  let second = Number.NEGATIVE_INFINITY
  return (elapsedMs, isError) => {
    const now = Math.floor(elapsedMs / 1000)
    if (now !== second) {
      errors.startSecond(now === second + 1)
      others.startSecond(now === second + 1)
      second = now
    }
    return (isError ? errors : others).take()
  }
}
