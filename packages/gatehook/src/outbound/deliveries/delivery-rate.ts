/** The delivery rate of a customer (§9.8) and the token bucket that enforces it. */

export interface DeliveryRate {
  readonly limit: number
  readonly windowMs: number
  readonly burst: number
}

/**
 * Parses a customer's own rate from its limits (JSON); undefined without one. The burst is twice
 * the limit, like that of the default rate.
 */
export function parseDeliveryRate(limits: string): DeliveryRate | undefined {
  if (limits === '{}') return undefined
  const own = JSON.parse(limits).delivery_rate as { limit: number; window_s: number } | undefined
  return own && { limit: own.limit, windowMs: own.window_s * 1000, burst: own.limit * 2 }
}

/** A token bucket. It uses monotonic time: a stopped wall clock must not stop deliveries. */
export class TokenBucket {
  #rate: DeliveryRate
  #tokens: number
  #filledAtMs: number

  constructor(rate: DeliveryRate, elapsedMs: number) {
    this.#rate = rate
    this.#tokens = rate.burst
    this.#filledAtMs = elapsedMs
  }

  /** Applies a changed rate; used tokens stay used. */
  setRate(rate: DeliveryRate): void {
    this.#rate = rate
    this.#tokens = Math.min(this.#tokens, rate.burst)
  }

  hasToken(elapsedMs: number): boolean {
    const { limit, windowMs, burst } = this.#rate
    const gain = ((elapsedMs - this.#filledAtMs) * limit) / windowMs
    if (gain > 0) {
      this.#tokens = Math.min(burst, this.#tokens + gain)
      this.#filledAtMs = elapsedMs
    }
    return this.#tokens >= 1
  }

  /** Whether it is full, so that evicting it changes no limit. */
  isFull(elapsedMs: number): boolean {
    this.hasToken(elapsedMs)
    return this.#tokens >= this.#rate.burst
  }

  takeToken(): void {
    this.#tokens -= 1
  }
}
