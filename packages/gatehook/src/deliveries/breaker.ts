/**
 * The breaker of an endpoint (§9.7): closed, all is sent; open, nothing is; after that one probe
 * decides. Pure but for its own counts; time comes in.
 */
const WINDOW_MS = 30_000
/** The window in slices: attempts are counted, not kept. */
const SLICES = 6
const SLICE_MS = WINDOW_MS / SLICES
const ATTEMPTS_MIN = 10
const FAILING_SHARE = 0.7
const OPEN_FIRST_MS = 30_000
const OPEN_MAX_MS = 600_000

export type BreakerState = 'closed' | 'open' | 'probing'

export class Breaker {
  #openUntil = 0
  #openMs = 0
  #probing = false
  readonly #total = new Array<number>(SLICES).fill(0)
  readonly #failed = new Array<number>(SLICES).fill(0)
  #slice = 0

  /** True when one more may be sent; `inFlight`: how many are under way. */
  admits(now: number, inFlight: number): boolean {
    if (this.#openMs === 0) return true
    return !this.#waits(now) && !this.#probing && inFlight === 0
  }

  /** One is sent. */
  sent(): void {
    if (this.#openMs > 0) this.#probing = true
  }

  /** It was given up before anybody knew what came of it. */
  withdrawn(): void {
    this.#probing = false
  }

  /** What came of one. */
  record(ok: boolean, now: number): void {
    if (this.#openMs > 0) {
      // Only the probe decides; the rest were on their way when it opened.
      if (!this.#probing) return
      this.#probing = false
      if (ok) this.#close()
      else this.#open(now)
      return
    }
    const at = this.#turn(now)
    this.#total[at]!++
    if (ok) return
    this.#failed[at]!++
    const total = sum(this.#total)
    if (total >= ATTEMPTS_MIN && sum(this.#failed) >= total * FAILING_SHARE) this.#open(now)
  }

  /** When it admits again, or undefined where that is not a matter of time. */
  opensAt(now: number): number | undefined {
    return !this.#probing && this.#waits(now) ? this.#openUntil : undefined
  }

  get state(): BreakerState {
    if (this.#openMs === 0) return 'closed'
    return this.#probing ? 'probing' : 'open'
  }

  /** Nothing is remembered that would be missed. */
  isIdle(now: number): boolean {
    return this.#openMs === 0 && Math.floor(now / SLICE_MS) - this.#slice >= SLICES
  }

  /** Not before it was opened: then the clock was set back, and would keep it open for longer. */
  #waits(now: number): boolean {
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

  /** Forgets slices that are past; gives the index of the present one. */
  #turn(now: number): number {
    const slice = Math.floor(now / SLICE_MS)
    const past = Math.min(Math.max(slice - this.#slice, 0), SLICES)
    for (let n = 0; n < past; n++) {
      const at = (slice - n) % SLICES
      this.#total[at] = 0
      this.#failed[at] = 0
    }
    this.#slice = slice
    return slice % SLICES
  }
}

const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0)
