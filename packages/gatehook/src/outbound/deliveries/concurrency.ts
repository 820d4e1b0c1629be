/**
 * How many attempts run at a time, over all endpoints: slots for customers, a bound on quick
 * attempts, a bound on the bytes of large bodies. Counts only; monotonic time is an argument.
 */
import type { CustomerState, EndpointState } from './endpoint.ts'

/** Quick attempts at a time. */
const QUICK_MAX = 48
/** Quick attempts at a time, including those of customers that have no other in flight. */
const QUICK_MAX_WITH_FIRST = 80
/**
 * An attempt is slow after this time. While even quick receivers take long, because this thread or
 * the machine is busy, it is slow after a multiple of the usual duration.
 */
const SLOW_AFTER_MIN_MS = 50
const SLOW_AFTER_MAX_MS = 250
const SLOW_AFTER_USUAL_TIMES = 4
/** How far one result moves the usual duration: a few quick ones outweigh many slow ones. */
const WEIGHT_OF_SLOWER = 1 / 256
const WEIGHT_OF_QUICKER = 1 / 8
/** Ended attempts are removed from the list in blocks of this size. */
const COMPACT_AT = 1_024

interface AttemptStart {
  readonly atMs: number
  hasEnded: boolean
  isSlow: boolean
}

/**
 * Bounds the attempts to receivers that respond quickly: more sockets would only wait for this
 * thread. A slow attempt stops counting, so that slow receivers take no slot from quick ones.
 */
export class QuickAttempts {
  #starts: AttemptStart[] = []
  #next = 0
  #count = 0
  #usualMs = 0

  /** Those that count: in flight, and not slow. */
  get count(): number {
    return this.#count
  }

  /** Whether another attempt may start. `isFirst`: its customer has none in flight. */
  admits(elapsedMs: number, isFirst: boolean): boolean {
    const slowAfterMs = Math.min(
      SLOW_AFTER_MAX_MS,
      Math.max(SLOW_AFTER_MIN_MS, SLOW_AFTER_USUAL_TIMES * this.#usualMs),
    )
    for (; this.#next < this.#starts.length; this.#next++) {
      const start = this.#starts[this.#next]!
      if (start.hasEnded) continue
      if (elapsedMs - start.atMs < slowAfterMs) break
      start.isSlow = true
      this.#count -= 1
    }
    if (this.#next >= COMPACT_AT) {
      this.#starts = this.#starts.slice(this.#next)
      this.#next = 0
    }
    return this.#count < (isFirst ? QUICK_MAX_WITH_FIRST : QUICK_MAX)
  }

  start(elapsedMs: number): AttemptStart {
    const start = { atMs: elapsedMs, hasEnded: false, isSlow: false }
    this.#starts.push(start)
    this.#count += 1
    return start
  }

  end(start: AttemptStart, elapsedMs: number): void {
    start.hasEnded = true
    if (start.isSlow) return
    this.#count -= 1
    const difference = elapsedMs - start.atMs - this.#usualMs
    this.#usualMs += difference * (difference > 0 ? WEIGHT_OF_SLOWER : WEIGHT_OF_QUICKER)
  }
}

/** POSTs at a time, over all customers that exceed their guaranteed slots. */
const IN_FLIGHT_MAX = 1_024
/** Slots that a customer always has, regardless of the slots that others hold. */
const GUARANTEED_SLOTS = 20

/** Bytes of large bodies in flight, of one customer and of all: hanging receivers hold them. */
const CUSTOMER_BYTES_MAX = 8_388_608
const BYTES_MAX = 33_554_432

export class ConcurrencySlots {
  readonly #quick = new QuickAttempts()
  #inFlight = 0
  #largeBytes = 0
  #busyCustomers = 0

  get inFlight(): number {
    return this.#inFlight
  }

  /** Quick attempts in flight. */
  get quick(): number {
    return this.#quick.count
  }

  /** Whether any customer may start an attempt. */
  hasSlot(elapsedMs: number): boolean {
    return this.#quick.admits(elapsedMs, true)
  }

  /** Whether a customer may start an attempt. Shares apply once half of the slots are taken. */
  hasSlotFor(customer: CustomerState, elapsedMs: number): boolean {
    if (!this.#quick.admits(elapsedMs, customer.inFlight === 0)) return false
    if (customer.inFlight < GUARANTEED_SLOTS) return true
    if (this.#inFlight >= IN_FLIGHT_MAX) return false
    if (this.#inFlight < IN_FLIGHT_MAX / 2) return true
    return customer.inFlight < IN_FLIGHT_MAX / (this.#busyCustomers + 1)
  }

  /** Whether the next body fits. An endpoint with no attempt in flight may always start one. */
  fitsNextBody({ owner, inFlight, nextLargeBytes: bytes }: EndpointState): boolean {
    if (bytes === 0 || inFlight === 0) return true
    return owner.largeBytes + bytes <= CUSTOMER_BYTES_MAX && this.#largeBytes + bytes <= BYTES_MAX
  }

  take(customer: CustomerState, elapsedMs: number, largeBytes: number): AttemptStart {
    customer.largeBytes += largeBytes
    this.#largeBytes += largeBytes
    if (customer.inFlight++ === 0) this.#busyCustomers += 1
    this.#inFlight += 1
    return this.#quick.start(elapsedMs)
  }

  release(
    customer: CustomerState,
    start: AttemptStart,
    elapsedMs: number,
    largeBytes: number,
  ): void {
    customer.largeBytes -= largeBytes
    this.#largeBytes -= largeBytes
    if (--customer.inFlight === 0) this.#busyCustomers -= 1
    this.#inFlight -= 1
    this.#quick.end(start, elapsedMs)
  }
}
