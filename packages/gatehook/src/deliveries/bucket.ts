/** A bucket of tokens: so many in a span, with a burst (§9.8). Pure but for its own level. */

export interface Rate {
  readonly limit: number
  readonly windowMs: number
  readonly burst: number
}

export class Bucket {
  #rate: Rate
  #level: number
  #at: number

  /**
   * `elapsedMs` is real time, here and below: a clock that stands still must not stop deliveries.
   */
  constructor(rate: Rate, elapsedMs: number) {
    this.#rate = rate
    this.#level = rate.burst
    this.#at = elapsedMs
  }

  /** A customer's limit changed; what it has used stays used. */
  retune(rate: Rate): void {
    this.#rate = rate
    this.#level = Math.min(this.#level, rate.burst)
  }

  has(elapsedMs: number): boolean {
    const { limit, windowMs, burst } = this.#rate
    const gained = ((elapsedMs - this.#at) * limit) / windowMs
    if (gained > 0) {
      this.#level = Math.min(burst, this.#level + gained)
      this.#at = elapsedMs
    }
    return this.#level >= 1
  }

  /** Whether it is full again, so that nothing is lost when it is forgotten. */
  isFull(elapsedMs: number): boolean {
    this.has(elapsedMs)
    return this.#level >= this.#rate.burst
  }

  take(): void {
    this.#level -= 1
  }
}
