/** Counts attempts of deliveries in memory by instant and endpoint. Bounded. */
import type { AttemptCounts } from '../../outbound/deliveries/attempt-feed.ts'
import { SHORTEST_STEP_S, stepStart } from './steps.ts'

export interface DeliveryCounts extends AttemptCounts {
  /** The start of the shortest step, in epoch seconds. */
  readonly at: number
}

/** Entries that wait for the store; the attempts of further endpoints are not counted. */
const ENTRIES_MAX = 10_000

export class DeliveryCounter {
  #entries = new Map<string, DeliveryCounts>()

  count(epochMs: number, attempts: readonly AttemptCounts[]): void {
    const at = stepStart(Math.floor(epochMs / 1000), SHORTEST_STEP_S)
    for (const entry of attempts) this.#add({ ...entry, at })
  }

  /** Returns and removes all counts. */
  take(): DeliveryCounts[] {
    const taken = [...this.#entries.values()]
    this.#entries = new Map()
    return taken
  }

  /** Takes back counts that could not be stored. */
  restore(counts: readonly DeliveryCounts[]): void {
    for (const entry of counts) this.#add(entry)
  }

  #add(counts: DeliveryCounts): void {
    const key = `${counts.at} ${counts.customer} ${counts.mode} ${counts.webhook}`
    const entry = this.#entries.get(key)
    if (entry) {
      entry.delivered += counts.delivered
      entry.failed += counts.failed
    } else if (this.#entries.size < ENTRIES_MAX) this.#entries.set(key, { ...counts })
  }
}
