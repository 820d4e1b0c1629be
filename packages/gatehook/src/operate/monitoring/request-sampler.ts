/**
 * Decides which requests the log stores when there are more than it can store (rates below). Each
 * kind has a budget of its own, so that a flood of one never displaces the others. Pure.
 */

/** `stranger`: a request without a verified credential whose response was 401, 403 or 429. */
export type SampledKind = 'success' | 'error' | 'stranger'

/** Requests of one second that are all stored; of more, an evenly spaced sample of this size. */
const SAMPLED_ABOVE_PER_S: Readonly<Record<SampledKind, number>> = {
  success: 500,
  error: 500,
  stranger: 50,
}

/** Counts the requests of one kind. */
class SampleBudget {
  readonly #most: number
  #count = 0
  #stored = 0
  /** Stores every n-th request; from the count of the previous second. */
  #stride = 1

  constructor(most: number) {
    this.#most = most
  }

  startSecond(isConsecutive: boolean): void {
    this.#stride = isConsecutive ? Math.max(1, Math.ceil(this.#count / this.#most)) : 1
    this.#count = 0
    this.#stored = 0
  }

  take(): boolean {
    const isTaken = this.#count++ % this.#stride === 0 && this.#stored < this.#most
    if (isTaken) this.#stored++
    return isTaken
  }
}

/** Returns a function that decides on one request at a monotonic instant in milliseconds. */
export function createRequestSampler(): (elapsedMs: number, kind: SampledKind) => boolean {
  const budgets: Readonly<Record<SampledKind, SampleBudget>> = {
    success: new SampleBudget(SAMPLED_ABOVE_PER_S.success),
    error: new SampleBudget(SAMPLED_ABOVE_PER_S.error),
    stranger: new SampleBudget(SAMPLED_ABOVE_PER_S.stranger),
  }
  let second = Number.NEGATIVE_INFINITY
  return (elapsedMs, kind) => {
    const now = Math.floor(elapsedMs / 1000)
    if (now !== second) {
      for (const budget of Object.values(budgets)) budget.startSecond(now === second + 1)
      second = now
    }
    return budgets[kind].take()
  }
}
