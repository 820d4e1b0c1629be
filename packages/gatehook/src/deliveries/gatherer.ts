/**
 * Fills the windows: which endpoints are to be read, how much of each, and what is done with what
 * the disk says of them. Sends nothing.
 */

import type { Clock } from '../kernel/clock.ts'
import { Breaker } from './breaker.ts'
import type { Rate } from './bucket.ts'
import type { Endpoint } from './endpoint.ts'
import type { Ledger } from './ledger.ts'
import type { Roster } from './roster.ts'
import type { Leases, Registration, WorkStore } from './work.ts'

/** Rows of one endpoint in memory, and of all together. */
const WINDOW_MAX = 512
const WINDOW_MIN = 4
const WINDOWS_MAX = 16_384
/** Characters of bodies in all windows. */
const WINDOWS_CHARACTERS = 8_388_608
/** Endpoints read at a time. */
const READ_MAX = 32
/** Between two looks at all endpoints, real time. */
const SCAN_MS = 1_000

export interface GathererDeps {
  readonly store: WorkStore
  readonly leases: Leases
  readonly clock: Clock
  /** Of customers that have none of their own; undefined: none (§9.8). */
  readonly rate: Rate | undefined
  readonly roster: Roster
  readonly ledger: Ledger
}

export class Gatherer {
  readonly #deps: GathererDeps
  readonly #hungry = new Set<Endpoint>()
  #scanAt = Number.NEGATIVE_INFINITY

  constructor(deps: GathererDeps) {
    this.#deps = deps
  }

  /** Something is to be read now. */
  get isHungry(): boolean {
    return this.#hungry.size > 0 || this.#scanIsDue
  }

  /** Puts an endpoint down to be read, where something may be due that is not in memory. */
  consider(endpoint: Endpoint, now: number): void {
    if (endpoint.gathering) return
    const { waiting, dueAt, changed } = endpoint
    const fresh = endpoint.isFresh(this.#deps.clock.elapsedMs())
    // A closed one is only looked at, to see whether a verified receiver opens it (§9.7).
    if (endpoint.closedUntil(now) > 0 && (fresh || !changed)) return
    const low = waiting <= this.#windowOf(endpoint) / 4
    const wants = dueAt !== undefined && dueAt <= now && low
    if (wants || (waiting > 0 && (changed || !fresh))) this.#hungry.add(endpoint)
  }

  /** Reads some; gives those that were read. Throws when the store does; nothing is forgotten. */
  async gather(): Promise<readonly Endpoint[]> {
    if (this.#scanIsDue) await this.#scan()
    const some: Endpoint[] = []
    for (const endpoint of this.#hungry) {
      if (some.push(endpoint) === READ_MAX) break
    }
    for (const endpoint of some) {
      this.#hungry.delete(endpoint)
      endpoint.gathering = true
    }
    try {
      await Promise.all(some.map((endpoint) => this.#fill(endpoint)))
    } finally {
      for (const endpoint of some) endpoint.gathering = false
    }
    return some
  }

  /** An endpoint somebody told of. */
  async meet(no: number): Promise<Endpoint | undefined> {
    const { store, leases, roster } = this.#deps
    const known = roster.find(no)
    if (known) return known
    const registration = await store.look(no)
    if (!registration?.sends) return undefined
    const { customer } = registration
    if (!leases.holds(customer)) await leases.take([customer])
    return leases.holds(customer) ? roster.endpoint(no, customer) : undefined
  }

  async #fill(endpoint: Endpoint): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const expected = endpoint.dueAt
    endpoint.dueAt = undefined
    endpoint.changed = false
    try {
      if (!this.#takeOver(endpoint, await store.look(endpoint.no), now)) return
      const limit = this.#windowOf(endpoint) - endpoint.waiting
      if (limit <= 0) return expected === undefined ? undefined : endpoint.expect(expected)
      const { rows, nextAt } = await store.due(endpoint.no, now, endpoint.known, limit)
      endpoint.put(rows)
      if (nextAt !== undefined) endpoint.expect(nextAt)
    } catch (error) {
      endpoint.expect(expected ?? now)
      throw error
    }
  }

  /** What the registration says now; false: nothing is to be sent. */
  #takeOver(endpoint: Endpoint, registration: Registration | undefined, now: number): boolean {
    const { clock, leases, ledger, rate } = this.#deps
    const before = endpoint.registration
    endpoint.registration = registration
    if (!registration?.sends || !leases.holds(endpoint.customer)) {
      endpoint.drop(now)
      endpoint.dueAt = undefined // a look at all endpoints finds it again when it may send
      return false
    }
    if (registration.revision !== before?.revision) {
      endpoint.drop(now)
      // Switched on again or sent elsewhere, it was verified just now, and its failures forgotten.
      const moved = before !== undefined && before.url !== registration.url
      if (moved) ledger.forget(endpoint)
      let verified = moved || before?.sends === false
      if (!ledger.hasNote(endpoint)) {
        verified ||= endpoint.health.firstFailureAt !== null && registration.firstFailureAt === null
        endpoint.health = registration
        endpoint.parkedUntil = registration.parkedUntil ?? 0
      }
      if (verified) endpoint.breaker = new Breaker()
    }
    if (!endpoint.isParked(now)) endpoint.parkedUntil = 0
    endpoint.readAt = clock.elapsedMs()
    endpoint.owner.limit(registration.rate ?? rate, clock.elapsedMs())
    return endpoint.closedUntil(now) === 0
  }

  #windowOf(endpoint: Endpoint): number {
    const endpoints = Math.max(1, this.#deps.roster.size)
    const byBytes = WINDOWS_CHARACTERS / endpoints / endpoint.bodyCharacters
    const rows = Math.min(WINDOW_MAX, WINDOWS_MAX / endpoints, byBytes)
    return Math.max(WINDOW_MIN, Math.floor(rows))
  }

  get #scanIsDue(): boolean {
    return this.#deps.clock.elapsedMs() - this.#scanAt >= SCAN_MS
  }

  /** Looks at all endpoints: other processes' work, retries after a start, whose health is over. */
  async #scan(): Promise<void> {
    const { store, leases, clock, roster, ledger } = this.#deps
    this.#scanAt = clock.elapsedMs()
    const now = clock.now()
    for (const no of await store.failing(now)) await store.disable(no, 'failing')
    const ahead = await store.scan()
    const due = ahead.filter(({ customer, dueAt }) => dueAt <= now && !leases.holds(customer))
    if (due.length > 0) await leases.take([...new Set(due.map((one) => one.customer))])
    for (const { no, customer, dueAt } of ahead) {
      if (!leases.holds(customer)) continue
      const endpoint = roster.endpoint(no, customer)
      endpoint.expect(dueAt)
      this.consider(endpoint, now)
    }
    const keep = (endpoint: Endpoint) =>
      endpoint.gathering || this.#hungry.has(endpoint) || ledger.hasNote(endpoint)
    roster.forget(now, clock.elapsedMs(), keep)
  }
}
