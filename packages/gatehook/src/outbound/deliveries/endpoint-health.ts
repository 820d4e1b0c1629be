/**
 * Endpoint health (§9.7): the circuit breaker, which pauses a failing endpoint for minutes, and the
 * dates of failures, by which a registration is disabled after days. Pure; time is an argument.
 */
const HOUR_MS = 3_600_000
const WINDOW_MS = 30_000
/** The window consists of slices: the breaker counts attempts instead of storing them. */
const SLICES = 6
const SLICE_MS = WINDOW_MS / SLICES
const ATTEMPTS_MIN = 10
const FAILING_SHARE = 0.7
const OPEN_FIRST_MS = 30_000
const OPEN_MAX_MS = 600_000

type BreakerState = 'closed' | 'open' | 'probing'

/** Closed, it admits every attempt; open, none; after the open time, one probe decides. */
export class CircuitBreaker {
  #openUntil = 0
  #openMs = 0
  #isProbing = false
  readonly #total = new Array<number>(SLICES).fill(0)
  readonly #failed = new Array<number>(SLICES).fill(0)
  #slice = 0

  /** Whether another attempt may start. `inFlight`: attempts of this endpoint in flight. */
  admits(now: number, inFlight: number): boolean {
    if (this.#openMs === 0) return true
    return !this.#isWaiting(now) && !this.#isProbing && inFlight === 0
  }

  /** Whether a resent delivery may start: as the probe, even before the open time ends. */
  get admitsResend(): boolean {
    return !this.#isProbing
  }

  /** Returns whether the attempt is the probe. */
  recordStart(): boolean {
    this.#isProbing = this.#openMs > 0
    return this.#isProbing
  }

  /** Records that the probe ended without a result. */
  recordAbort(): void {
    this.#isProbing = false
  }

  recordResult(ok: boolean, now: number, isProbe: boolean): void {
    if (this.#openMs > 0) {
      // Only the probe decides: other attempts were in flight when the breaker opened.
      if (!isProbe) return
      this.#isProbing = false
      if (ok) this.#close()
      // A resent delivery that fails early neither shortens nor extends the open time.
      else if (!this.#isWaiting(now)) this.#open(now)
      return
    }
    const index = this.#advanceSlice(now)
    this.#total[index]!++
    if (ok) return
    this.#failed[index]!++
    const total = sum(this.#total)
    if (total >= ATTEMPTS_MIN && sum(this.#failed) >= total * FAILING_SHARE) this.#open(now)
  }

  /** Returns when an open breaker admits a probe; undefined if it is closed or a probe runs. */
  probeAt(now: number): number | undefined {
    return !this.#isProbing && this.#isWaiting(now) ? this.#openUntil : undefined
  }

  get state(): BreakerState {
    if (this.#openMs === 0) return 'closed'
    return this.#isProbing ? 'probing' : 'open'
  }

  /** Whether a new breaker would behave the same. */
  isIdle(now: number): boolean {
    return this.#openMs === 0 && Math.floor(now / SLICE_MS) - this.#slice >= SLICES
  }

  /** An instant before the opening means that the clock was set back: the wait is over. */
  #isWaiting(now: number): boolean {
    return now < this.#openUntil && now >= this.#openUntil - this.#openMs
  }

  #open(now: number): void {
    this.#openMs = Math.min(this.#openMs === 0 ? OPEN_FIRST_MS : this.#openMs * 2, OPEN_MAX_MS)
    this.#openUntil = now + this.#openMs
  }

  #close(): void {
    this.#openMs = 0
    this.#total.fill(0)
    this.#failed.fill(0)
  }

  /** Clears the slices that left the window; returns the index of the current slice. */
  #advanceSlice(now: number): number {
    const slice = Math.floor(now / SLICE_MS)
    const expiredSlices = Math.min(Math.max(slice - this.#slice, 0), SLICES)
    for (let n = 0; n < expiredSlices; n++) {
      const index = (slice - n) % SLICES
      this.#total[index] = 0
      this.#failed[index] = 0
    }
    this.#slice = slice
    return slice % SLICES
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0)

/** A registration is disabled this long after the first failure since its last success. */
export const FAILING_MS = 5 * 24 * HOUR_MS
/** Two failures must lie this far apart: one bad hour before a quiet week disables nothing. */
export const FAILURES_APART_MS = 12 * HOUR_MS
/** The minimum time between two stored dates of the same kind (first failure, last success). */
const DATE_PRECISION_MS = 60_000

export interface EndpointHealth {
  /** Since the last success; null when there was no failure. */
  readonly firstFailureAt: number | null
  readonly lastFailureAt: number | null
  readonly lastSuccessAt: number | null
}

/** Returns the health after an attempt; the same object when the store needs no update. */
export function healthAfterAttempt(
  health: EndpointHealth,
  isDelivered: boolean,
  now: number,
): EndpointHealth {
  if (isDelivered) {
    const isStored = health.firstFailureAt === null && isRecent(health.lastSuccessAt, now)
    return isStored ? health : { ...health, firstFailureAt: null, lastSuccessAt: now }
  }
  if (health.firstFailureAt !== null && isRecent(health.lastFailureAt, now)) return health
  // A clock that was ahead has stored a later one.
  const firstFailureAt = Math.min(health.firstFailureAt ?? now, now)
  return { ...health, firstFailureAt, lastFailureAt: now }
}

const isRecent = (at: number | null, now: number): boolean =>
  at !== null && Math.abs(now - at) < DATE_PRECISION_MS
