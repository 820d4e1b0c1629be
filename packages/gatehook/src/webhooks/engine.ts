/**
 * The delivery engine (§9.6–9.8, §9.12): a small window of each endpoint's due rows in memory, the rest
 * on disk; sends by turns; writes results in batches. It owns no thread, no socket, no SQL and no
 * time: `loop.ts` turns it, tests turn it by `tick`.
 *
 * What it holds can be lost at any moment: a row is pending on disk until its result is written.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { isoTime } from '../kernel/time.ts'
import { isDelivered, type Outcome } from './attempt.ts'
import type { Rate } from './bucket.ts'
import { attemptRecord } from './delivery.ts'
import { Fairness } from './drr.ts'
import { Customer, Endpoint } from './endpoint.ts'
import { type Figures, Tally } from './figures.ts'
import { afterAttempt } from './health.ts'
import { isExpired, judge } from './schedule.ts'
import type { DisabledReason, Due, Leases, Note, Post, Settlement, WorkStore } from './work.ts'

export interface EngineDeps {
  readonly store: WorkStore
  readonly leases: Leases
  readonly post: Post
  readonly clock: Clock
  /** From 0 up to 1. */
  readonly chance: () => number
  readonly log: Log
  readonly scheduleS: readonly number[]
  /** Of customers that have none of their own; undefined: none (§9.8). */
  readonly rate: Rate | undefined
  /** There is a result to write or a window to fill: turn the loops. */
  readonly nudge?: () => void
}

/** POSTs at a time, over all customers, while each has had its share. */
const IN_FLIGHT_MAX = 1_024
/** So many a customer may always have, however many sockets others hold. */
const IN_FLIGHT_SURE = 20
/** Results that wait to be written; beyond it nothing is started. */
const UNWRITTEN_MAX = 10_000
/** Rows of one endpoint in memory, and of all together. */
const WINDOW_MAX = 128
const WINDOW_MIN = 4
const WINDOWS_MAX = 4_096
/** Characters of bodies in all windows. */
const WINDOWS_CHARACTERS = 8_388_608
/** Endpoints read at a time. */
const GATHER_MAX = 32
/** Results written in one transaction. */
const SETTLE_MAX = 512
const SCAN_MS = 1_000

interface Result {
  readonly endpoint: Endpoint
  readonly settlement: Settlement
}

export class Engine {
  readonly #deps: EngineDeps
  readonly #endpoints = new Map<number, Endpoint>()
  readonly #customers = new Map<number, Customer>()
  readonly #fairness = new Fairness<Endpoint>()
  readonly #hungry = new Set<Endpoint>()
  readonly #noted = new Set<Endpoint>()
  readonly #tally = new Tally()
  readonly #abort = new AbortController()
  #unwritten: Result[] = []
  #off: { readonly endpoint: Endpoint; readonly reason: DisabledReason }[] = []
  #inFlight = 0
  #busyCustomers = 0
  #scanAt = Number.NEGATIVE_INFINITY
  /** Rows in windows, as the last sweep found them. */
  #waiting = 0
  #draining = false

  constructor(deps: EngineDeps) {
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** Results to write, or registrations to switch off. */
  get hasResults(): boolean {
    return this.#unwritten.length + this.#noted.size + this.#off.length > 0
  }

  /** Something waits for time or for an answer. */
  get isBusy(): boolean {
    return this.#inFlight > 0 || this.#hungry.size > 0 || this.#waiting > 0
  }

  /** Windows to fill, or a look at all endpoints that is due. */
  get isHungry(): boolean {
    return !this.#draining && (this.#hungry.size > 0 || this.#scanIsDue())
  }

  /** One whole turn: what tests call. */
  async tick(): Promise<void> {
    await this.settle()
    this.sweep()
    while (this.isHungry) {
      await this.gather()
      this.dispatch()
    }
    this.dispatch()
  }

  /** These registrations have something new that is due. */
  async wake(nos: readonly number[]): Promise<void> {
    const now = this.#deps.clock.now()
    for (const no of nos) {
      const endpoint = this.#endpoints.get(no) ?? (await this.#meet(no))
      if (!endpoint) continue
      endpoint.expect(now)
      endpoint.changed = true // perhaps: the registration is read again with its rows
      this.#consider(endpoint, now)
    }
  }

  /** Time has passed: who may go on goes on. */
  sweep(): void {
    const { clock, leases } = this.#deps
    const now = clock.now()
    const elapsedMs = clock.elapsedMs()
    for (const customer of this.#customers.values()) {
      customer.held = false
      if (!leases.holds(customer.no)) for (const one of customer.endpoints) one.drop(now)
    }
    this.#waiting = 0
    for (const endpoint of this.#endpoints.values()) {
      this.#offer(endpoint, now, elapsedMs)
      this.#consider(endpoint, now)
      this.#waiting += endpoint.waiting
    }
    this.dispatch()
  }

  /** Sends as much as may be sent. */
  dispatch(): void {
    if (this.#draining || !this.#deps.leases.alive) return
    const { clock } = this.#deps
    const now = clock.now()
    const elapsedMs = clock.elapsedMs()
    while (this.#unwritten.length < UNWRITTEN_MAX) {
      const endpoint = this.#fairness.next()
      if (!endpoint) return
      const customer = this.#customers.get(endpoint.customer)!
      if (!endpoint.mayStart(now, elapsedMs)) {
        this.#fairness.remove(endpoint)
      } else if (!this.#hasRoom(customer) || !customer.hasToken(elapsedMs)) {
        customer.held = true
        this.#fairness.removeCustomer(customer.no)
      } else {
        const { cost } = endpoint
        this.#start(endpoint, customer, now)
        this.#fairness.served(endpoint, cost)
      }
      this.#consider(endpoint, now)
    }
  }

  /** Fills windows from the store. */
  async gather(): Promise<void> {
    if (this.#scanIsDue()) await this.#scan()
    const some: Endpoint[] = []
    for (const endpoint of this.#hungry) {
      if (some.push(endpoint) === GATHER_MAX) break
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
    const now = this.#deps.clock.now()
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const endpoint of some) {
      this.#offer(endpoint, now, elapsedMs)
      this.#consider(endpoint, now)
    }
  }

  /** Writes results. Throws when they cannot be written; they are kept, and tried again. */
  async settle(): Promise<void> {
    const { store, clock } = this.#deps
    while (this.hasResults) {
      const batch = this.#unwritten.slice(0, SETTLE_MAX)
      const noted = [...this.#noted]
      const written = noted.map(noteOf)
      if (batch.length + noted.length > 0) {
        await store.settle(
          batch.map((result) => result.settlement),
          written,
        )
      }
      this.#unwritten = this.#unwritten.slice(batch.length)
      const now = clock.now()
      for (const { endpoint, settlement } of batch) {
        endpoint.known.delete(settlement.no)
        if (settlement.nextAt !== null) endpoint.expect(settlement.nextAt)
        this.#consider(endpoint, now)
      }
      noted.forEach((endpoint, at) => {
        if (isSame(noteOf(endpoint), written[at]!)) this.#noted.delete(endpoint)
      })
      await this.#switchOff()
    }
  }

  /** Nothing more is started. Resolves when all that ran is written, or given back to the disk. */
  async drain(limit: Promise<unknown>): Promise<void> {
    this.#draining = true
    limit.then(() => this.#abort.abort())
    while (this.#inFlight > 0) await new Promise<void>((resolve) => void (this.#ended = resolve))
    await this.settle()
  }
  #ended: (() => void) | undefined

  figures(): Figures {
    const now = this.#deps.clock.now()
    const breakers = { closed: 0, open: 0, probing: 0 }
    let parked = 0
    let oldest = now
    for (const endpoint of this.#endpoints.values()) {
      breakers[endpoint.breaker.state] += 1
      if (endpoint.parkedUntil > now) parked += 1
      else if (endpoint.dueAt !== undefined && endpoint.dueAt < oldest) oldest = endpoint.dueAt
    }
    const { attempts, latency, latencySumMs } = this.#tally
    return {
      attempts: { ...attempts },
      latency: [...latency],
      latencySumMs,
      inFlight: this.#inFlight,
      queueAgeMs: now - oldest,
      breakers,
      parked,
      unwritten: this.#unwritten.length,
    }
  }

  #start(endpoint: Endpoint, customer: Customer, now: number): void {
    const due = endpoint.shift()
    const registration = endpoint.registration!
    const { body } = due
    if (body === undefined || isExpired(due.createdAt, now)) {
      const { no, attempt } = due
      const settlement = { no, state: 'exhausted', attempt, nextAt: null, record: '' } as const
      this.#unwritten.push({ endpoint, settlement })
      this.#deps.nudge?.()
      return
    }
    const n = due.attempt + 1
    endpoint.inFlight += 1
    endpoint.breaker.sent()
    if (customer.inFlight++ === 0) this.#busyCustomers += 1
    this.#inFlight += 1
    customer.takeToken()
    this.#deps
      .post(registration, { ...due, body }, { n, now }, this.#abort.signal)
      .then((outcome) => this.#finish(endpoint, customer, due, { n, at: now, outcome }))
  }

  #finish(
    endpoint: Endpoint,
    customer: Customer,
    due: Due,
    { n, at, outcome }: { n: number; at: number; outcome: Outcome },
  ): void {
    const { clock, chance, scheduleS } = this.#deps
    const now = clock.now()
    endpoint.inFlight -= 1
    this.#inFlight -= 1
    if (--customer.inFlight === 0) this.#busyCustomers -= 1
    if (this.#inFlight === 0) this.#ended?.()
    if (outcome.kind === 'failed' && outcome.reason === 'aborted') {
      // Ours, not the receiver's: the row is pending as before.
      endpoint.breaker.withdrawn()
      endpoint.known.delete(due.no)
      endpoint.expect(now)
      return
    }
    this.#tally.count(outcome)
    const verdict = judge(outcome, { n, now, scheduleS, chance: chance() })
    const record = JSON.stringify(attemptRecord(n, isoTime(at), outcome))
    const { state, nextAt } = verdict
    this.#unwritten.push({
      endpoint,
      settlement: { no: due.no, state, attempt: n, nextAt, record },
    })
    endpoint.breaker.record(isDelivered(outcome), now)
    this.#observe(endpoint, isDelivered(outcome), now, verdict.parkedUntil)
    if (verdict.gone) this.#off.push({ endpoint, reason: 'gone' })
    this.#goOn(endpoint, customer, now)
  }

  /** A place is free: for this endpoint, or for others of a customer that was held. */
  #goOn(endpoint: Endpoint, customer: Customer, now: number): void {
    const elapsedMs = this.#deps.clock.elapsedMs()
    if (customer.held) {
      customer.held = false
      for (const one of customer.endpoints) this.#offer(one, now, elapsedMs)
    }
    this.#offer(endpoint, now, elapsedMs)
    this.#consider(endpoint, now)
    this.dispatch()
    this.#deps.nudge?.()
  }

  #observe(endpoint: Endpoint, delivered: boolean, now: number, parkedUntil?: number): void {
    const health = afterAttempt(endpoint.health, delivered, now)
    if (health !== endpoint.health) {
      endpoint.health = health
      this.#noted.add(endpoint)
    }
    if (parkedUntil !== undefined && parkedUntil > endpoint.parkedUntil) {
      endpoint.parkedUntil = parkedUntil
      this.#noted.add(endpoint)
    }
  }

  /** Shares of the sockets matter only when half of them are in use. */
  #hasRoom(customer: Customer): boolean {
    if (customer.inFlight < IN_FLIGHT_SURE) return true
    if (this.#inFlight >= IN_FLIGHT_MAX) return false
    if (this.#inFlight < IN_FLIGHT_MAX / 2) return true
    return customer.inFlight < IN_FLIGHT_MAX / (this.#busyCustomers + 1)
  }

  #offer(endpoint: Endpoint, now: number, elapsedMs: number): void {
    if (this.#customers.get(endpoint.customer)?.held) return
    if (endpoint.mayStart(now, elapsedMs)) this.#fairness.add(endpoint)
    else this.#fairness.remove(endpoint)
  }

  /** Puts an endpoint down to be read, where something may be due that is not in memory. */
  #consider(endpoint: Endpoint, now: number): void {
    if (endpoint.gathering || endpoint.closedUntil(now) > 0) return
    const { waiting, dueAt } = endpoint
    const low = waiting <= this.#windowOf(endpoint) / 4
    const wants = dueAt !== undefined && dueAt <= now && low
    const fresh = !endpoint.changed && endpoint.isFresh(this.#deps.clock.elapsedMs())
    if (wants || (waiting > 0 && !fresh)) this.#hungry.add(endpoint)
  }

  #windowOf(endpoint: Endpoint): number {
    const endpoints = Math.max(1, this.#endpoints.size)
    const byBytes = WINDOWS_CHARACTERS / endpoints / endpoint.bodyCharacters
    const rows = Math.min(WINDOW_MAX, WINDOWS_MAX / endpoints, byBytes)
    return Math.max(WINDOW_MIN, Math.floor(rows))
  }

  async #fill(endpoint: Endpoint): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const expected = endpoint.dueAt
    endpoint.dueAt = undefined
    endpoint.changed = false
    try {
      if (!(await this.#read(endpoint, now))) return
      const limit = this.#windowOf(endpoint) - endpoint.waiting
      if (limit <= 0) {
        if (expected !== undefined) endpoint.expect(expected)
        return
      }
      const { rows, nextAt } = await store.due(endpoint.no, now, endpoint.known, limit)
      endpoint.put(rows)
      if (nextAt !== undefined) endpoint.expect(nextAt)
    } catch (error) {
      endpoint.expect(expected ?? now)
      throw error
    }
  }

  /** Reads the registration anew; false: there is nothing to send now. */
  async #read(endpoint: Endpoint, now: number): Promise<boolean> {
    const { store, clock, leases } = this.#deps
    const registration = await store.look(endpoint.no)
    if (!registration?.sends || !leases.holds(endpoint.customer)) {
      endpoint.registration = registration
      endpoint.drop(now)
      endpoint.dueAt = undefined // a look at all endpoints finds it again when it may send
      return false
    }
    if (registration.revision !== endpoint.registration?.revision) endpoint.drop(now)
    if (!endpoint.registration) {
      endpoint.health = registration
      endpoint.parkedUntil = registration.parkedUntil ?? 0
    }
    endpoint.registration = registration
    endpoint.readAt = clock.elapsedMs()
    const customer = this.#customers.get(endpoint.customer)
    customer?.limit(registration.rate ?? this.#deps.rate, clock.elapsedMs())
    return endpoint.closedUntil(now) === 0
  }

  /** An endpoint nobody told of yet. */
  async #meet(no: number): Promise<Endpoint | undefined> {
    const { store, leases } = this.#deps
    const registration = await store.look(no)
    if (!registration?.sends) return undefined
    const { customer } = registration
    if (!leases.holds(customer)) await leases.take([customer])
    return leases.holds(customer) ? this.#endpoint(no, customer) : undefined
  }

  #endpoint(no: number, customerNo: number): Endpoint {
    let endpoint = this.#endpoints.get(no)
    if (endpoint) return endpoint
    endpoint = new Endpoint(no, customerNo)
    this.#endpoints.set(no, endpoint)
    let customer = this.#customers.get(customerNo)
    if (!customer) this.#customers.set(customerNo, (customer = new Customer(customerNo)))
    customer.endpoints.add(endpoint)
    return endpoint
  }

  #scanIsDue(): boolean {
    return this.#deps.clock.elapsedMs() - this.#scanAt >= SCAN_MS
  }

  /** Looks at all endpoints: other processes' work, retries after a start, whose health is over. */
  async #scan(): Promise<void> {
    const { store, leases, clock } = this.#deps
    this.#scanAt = clock.elapsedMs()
    const now = clock.now()
    for (const no of await store.failing(now)) await store.disable(no, 'failing')
    const ahead = await store.scan()
    const due = ahead.filter(({ customer, dueAt }) => dueAt <= now && !leases.holds(customer))
    if (due.length > 0) await leases.take([...new Set(due.map((one) => one.customer))])
    for (const { no, customer, dueAt } of ahead) {
      if (!leases.holds(customer)) continue
      const endpoint = this.#endpoint(no, customer)
      endpoint.expect(dueAt)
      this.#consider(endpoint, now)
    }
    this.#forget(now)
  }

  #forget(now: number): void {
    for (const endpoint of this.#endpoints.values()) {
      if (!endpoint.isIdle(now)) continue
      if (endpoint.gathering || this.#noted.has(endpoint)) continue
      this.#endpoints.delete(endpoint.no)
      this.#hungry.delete(endpoint)
      this.#customers.get(endpoint.customer)?.endpoints.delete(endpoint)
    }
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const customer of this.#customers.values()) {
      if (customer.isIdle(elapsedMs)) this.#customers.delete(customer.no)
    }
  }

  async #switchOff(): Promise<void> {
    while (this.#off.length > 0) {
      const { endpoint, reason } = this.#off[0]!
      await this.#deps.store.disable(endpoint.no, reason)
      this.#off.shift()
      endpoint.drop(this.#deps.clock.now())
      endpoint.readAt = Number.NEGATIVE_INFINITY
      this.#deps.log.warn({ webhook: endpoint.registration?.id, reason }, 'webhook disabled')
    }
  }
}

const noteOf = ({ no, health, parkedUntil }: Endpoint): Note => ({
  no,
  firstFailureAt: health.firstFailureAt,
  lastFailureAt: health.lastFailureAt,
  lastSuccessAt: health.lastSuccessAt,
  parkedUntil: parkedUntil || null,
})

const isSame = (one: Note, other: Note): boolean =>
  one.firstFailureAt === other.firstFailureAt &&
  one.lastFailureAt === other.lastFailureAt &&
  one.lastSuccessAt === other.lastSuccessAt &&
  one.parkedUntil === other.parkedUntil
