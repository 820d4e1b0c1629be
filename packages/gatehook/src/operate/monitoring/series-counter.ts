/**
 * Counts requests in memory by instant, customer, mode, caller and version, until `take` passes the
 * counts to the store. Counting a request costs a few lookups. Bounded: beyond its limits, it
 * counts for fewer dimensions, and the sums stay exact.
 */

import { bucketOf, LATENCY_BUCKETS } from './percentiles.ts'
import { SHORTEST_STEP_S, stepStart } from './steps.ts'

export interface SeriesKey {
  readonly customer: string
  readonly mode: string
  /** A key or client id; '' for other callers. */
  readonly caller: string
  readonly version: string
}

export interface SeriesCounts extends SeriesKey {
  /** The start of the shortest step, in epoch seconds. */
  readonly at: number
  /** Responses by class: 2xx, 3xx, 4xx, 5xx. */
  readonly classes: [number, number, number, number]
  /** Responses 401 and 403. */
  refused: number
  /** Responses 429. */
  limited: number
  readonly buckets: number[]
  /** Requests that the log left out because there were too many. */
  sampled: number
  /** Requests that the log lost because its store was not available. */
  dropped: number
}

/** Entries of one step with all dimensions; further callers count for their customer. */
const CALLERS_MAX = 500
/** Entries of one step; further ones count for the installation only. */
const ENTRIES_MAX = 1000
/** Entries that wait while the store is not available; further ones are lost. */
const ENDED_MAX = 10_000

/** Counts of unauthenticated callers, and those that exceed the bounds above. */
const UNAUTHENTICATED: SeriesKey = { customer: '', mode: '', caller: '', version: '' }

export class SeriesCounter {
  #at = -1
  #entries = new Map<string, SeriesCounts>()
  /** Counts of steps that have ended. */
  #ended: SeriesCounts[] = []

  /** Counts a response; null: the connection ended before. */
  count(epochMs: number, key: SeriesKey, status: number | null, ms: number): void {
    const counts = this.#entryOf(epochMs, key)
    // A connection that the client ended counts as 4xx, like 499 of common proxies.
    const group = status === null ? 2 : Math.min(3, Math.max(0, Math.floor(status / 100) - 2))
    counts.classes[group]!++
    if (status === 401 || status === 403) counts.refused++
    if (status === 429) counts.limited++
    counts.buckets[bucketOf(ms)]!++
  }

  countOmitted(epochMs: number, kind: 'sampled' | 'dropped', count = 1): void {
    this.#entryOf(epochMs, UNAUTHENTICATED)[kind] += count
  }

  /** Returns and removes all counts. */
  take(): SeriesCounts[] {
    const taken = [...this.#ended, ...this.#entries.values()]
    this.#ended = []
    this.#entries = new Map()
    return taken
  }

  /** Takes back counts that could not be stored. */
  restore(counts: readonly SeriesCounts[]): void {
    if (this.#ended.length < ENDED_MAX) this.#ended.push(...counts)
  }

  #entryOf(epochMs: number, { customer, mode, caller, version }: SeriesKey): SeriesCounts {
    const at = stepStart(Math.floor(epochMs / 1000), SHORTEST_STEP_S)
    if (at !== this.#at) {
      this.#at = at
      if (this.#entries.size > 0) {
        this.restore([...this.#entries.values()])
        this.#entries = new Map()
      }
    }
    const text = `${customer} ${mode} ${caller} ${version}`
    const entry = this.#entries.get(text)
    if (entry) return entry
    if (caller !== '' && this.#entries.size >= CALLERS_MAX) {
      return this.#entryOf(epochMs, { customer, mode, caller: '', version })
    }
    if (customer !== '' && this.#entries.size >= ENTRIES_MAX) {
      return this.#entryOf(epochMs, { ...UNAUTHENTICATED, version })
    }
    const created: SeriesCounts = {
      at,
      customer,
      mode,
      caller,
      version,
      classes: [0, 0, 0, 0],
      refused: 0,
      limited: 0,
      buckets: new Array<number>(LATENCY_BUCKETS).fill(0),
      sampled: 0,
      dropped: 0,
    }
    this.#entries.set(text, created)
    return created
  }
}
