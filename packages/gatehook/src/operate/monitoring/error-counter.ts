/** Counts errors in memory by cause and customer, until they are stored. Bounded. */
import { ERROR_STEPS, stepStart } from './steps.ts'

export interface ErrorKey {
  /** The code of the failure; `aborted` without a response. */
  readonly error: string
  /** 0 without a response. */
  readonly status: number
  readonly route: string
  readonly version: string
  readonly customer: string
  readonly mode: string
}

export interface ErrorCounts extends ErrorKey {
  /** The start of the shortest step of errors, in epoch seconds. */
  readonly at: number
  count: number
  /** Epoch milliseconds of the latest. */
  lastAt: number
  /** The request id of the latest. */
  sample: string
}

/** Entries that wait for the store; further causes count without their customer, then as others. */
const ENTRIES_MAX = 2000
const REST_MAX = 4000

export class ErrorCounter {
  #entries = new Map<string, ErrorCounts>()

  count(epochMs: number, key: ErrorKey, requestId: string): void {
    const at = stepStart(Math.floor(epochMs / 1000), ERROR_STEPS[0]!.seconds)
    this.#add({ ...key, at, count: 1, lastAt: epochMs, sample: requestId })
  }

  /** Returns and removes all counts. */
  take(): ErrorCounts[] {
    const taken = [...this.#entries.values()]
    this.#entries = new Map()
    return taken
  }

  /** Takes back counts that could not be stored. */
  restore(counts: readonly ErrorCounts[]): void {
    for (const entry of counts) this.#add(entry)
  }

  #add(counts: ErrorCounts): void {
    const { at, error, status, route, version, customer, mode } = counts
    const key = `${at} ${error} ${status} ${route} ${version} ${customer} ${mode}`
    const entry = this.#entries.get(key)
    if (entry) {
      entry.count += counts.count
      if (counts.lastAt >= entry.lastAt) {
        entry.lastAt = counts.lastAt
        entry.sample = counts.sample
      }
      return
    }
    if (this.#entries.size < ENTRIES_MAX) this.#entries.set(key, { ...counts })
    else if (customer !== '') this.#add({ ...counts, customer: '', mode: '' })
    else if (this.#entries.size < REST_MAX) this.#entries.set(key, { ...counts })
  }
}
