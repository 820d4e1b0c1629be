/**
 * Latencies in buckets of 1/64 of their power of two: an error of at most 1.6 %, two thousand
 * counters, no allocation during a run. Pure.
 */
const STEPS = 64
const POWERS = 32

export interface Percentiles {
  /** Microseconds. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export class Histogram {
  readonly #buckets = new Uint32Array(STEPS * POWERS)
  #count = 0
  #max = 0

  /** Adds a latency of at least 0 microseconds; drops the fraction. */
  add(micros: number): void {
    const value = micros | 0
    this.#buckets[bucketOf(value)]!++
    this.#count++
    if (value > this.#max) this.#max = value
  }

  /** Returns the lower edge of the bucket that contains the quantile `q` (0 to 1). */
  quantile(q: number): number {
    const rank = Math.max(1, Math.ceil(this.#count * q))
    let count = 0
    for (let bucket = 0; bucket < this.#buckets.length; bucket++) {
      count += this.#buckets[bucket]!
      if (count >= rank) return edgeOf(bucket)
    }
    return 0
  }

  percentiles(): Percentiles {
    return { p50: this.quantile(0.5), p99: this.quantile(0.99), max: this.#max }
  }
}

/** Returns the bucket of a value: its own below 64, otherwise by its top seven bits. */
function bucketOf(value: number): number {
  if (value < STEPS) return value
  const shift = 25 - Math.clz32(value)
  return (shift + 1) * STEPS + (value >>> shift) - STEPS
}

function edgeOf(bucket: number): number {
  if (bucket < STEPS) return bucket
  const shift = Math.floor(bucket / STEPS) - 1
  return ((bucket % STEPS) + STEPS) * 2 ** shift
}
