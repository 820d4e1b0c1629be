/**
 * The state of endpoints and customers that have work, in the engine's memory: a window of due
 * deliveries, the registration, its health, the customer's rate. The process may lose all of it:
 * the rows on disk say which work is left.
 */
import { customerNoOf, type Scope } from '../../kernel/principal.ts'
import { type DeliveryRate, TokenBucket } from './delivery-rate.ts'
import { CircuitBreaker, type EndpointHealth } from './endpoint-health.ts'
import type { Queued } from './fair-queue.ts'
import type { HealthState, OutcomeSummary } from './outcome-summary.ts'
import type { DueDelivery, EndpointKey, EngineRegistration } from './ports.ts'
import { RETRY_AFTER_MAX_MS } from './retry-schedule.ts'

/** POSTs to one endpoint at a time (§9.7). */
const IN_FLIGHT_MAX = 20
/** An older copy of the registration (monotonic time) is read again before the next attempt. */
const REGISTRATION_FRESH_MS = 1_000
/** An endpoint stays in memory if its next delivery is due within this time. */
const FAR_MS = 10_000
/** Deliveries that callers resend, until they start; further ones wait for the breaker. */
const RESENDS_MAX = 32
/** A body costs one turn, and one more for each of so many characters. */
const COST_CHARACTERS = 16_384

export class EndpointState implements Queued {
  readonly no: number
  readonly scope: Scope
  readonly customer: number
  readonly owner: CustomerState
  breaker = new CircuitBreaker()
  /** Rows in memory: in the window, in flight, or with a result that is not committed. */
  readonly loadedIds = new Set<string>()
  registration: EngineRegistration | undefined
  /** When the registration was read, in monotonic milliseconds. */
  readAtMs = Number.NEGATIVE_INFINITY
  /** When the first row outside of this memory is due; undefined: the engine expects none. */
  nextDueAt: number | undefined
  /** No row outside of this memory was due before, except of transactions that committed late. */
  readFrom = 0
  /** The latest instant at which its due rows were read. */
  lookedAt = Number.NEGATIVE_INFINITY
  holdUntil = 0
  /** Deliveries may wait in their events. */
  hasBacklog = false
  /** Results that are not committed. */
  unwrittenResults = 0
  /** A receiver responded 410, and the registration is not disabled yet. */
  isGone = false
  /** The window filler is reading its rows. */
  isFilling = false
  /** A wake-up arrived since its registration was read. */
  hasChanged = false
  /** Average characters of its bodies. */
  bodyCharacters = 1024
  /** Undefined until it is read: before the first window of this node. */
  summary: OutcomeSummary | undefined
  /** The health that this node has stored; undefined: unknown. */
  storedHealth: HealthState | undefined
  /** The greatest id of a delivery with an attempt. */
  newestId = ''
  health: EndpointHealth = { firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null }
  /** Deliveries that callers resend, outside of the window. */
  readonly resendsToRead = new Set<string>()
  /** The same, in the window. */
  readonly #resends = new Set<string>()
  #window: readonly DueDelivery[] = []
  #next = 0

  constructor({ no, scope }: EndpointKey, owner: CustomerState) {
    this.no = no
    this.scope = scope
    this.customer = owner.no
    this.owner = owner
  }

  /** Deliveries in the window: due and not started. */
  get windowSize(): number {
    return this.#window.length - this.#next
  }

  /** POSTs that have not ended. */
  get inFlight(): number {
    return this.loadedIds.size - this.windowSize - this.unwrittenResults
  }

  /** The cost of its next delivery, in turns. */
  get cost(): number {
    const next = this.#window[this.#next]
    return 1 + Math.floor((next?.largeBytes ?? next?.body?.length ?? 0) / COST_CHARACTERS)
  }

  /** Bytes of the next body if it is a large one; otherwise 0. */
  get nextLargeBytes(): number {
    return this.#window[this.#next]?.largeBytes ?? 0
  }

  appendRows(rows: readonly DueDelivery[]): void {
    if (rows.length === 0) return
    this.#window = this.windowSize === 0 ? rows : [...this.#window.slice(this.#next), ...rows]
    this.#next = 0
    let characters = 0
    for (const row of rows) {
      this.loadedIds.add(row.id)
      characters += row.body?.length ?? 0
    }
    this.bodyCharacters = Math.max(256, characters / rows.length)
  }

  /** Whether a delivery that a caller resends waits for its attempt. */
  get hasResends(): boolean {
    return this.resendsToRead.size > 0 || this.#resends.size > 0
  }

  requestResend(id: string): void {
    if (this.resendsToRead.size + this.#resends.size < RESENDS_MAX) this.resendsToRead.add(id)
  }

  /** Puts the rows that callers resend before the others; ignores those in flight. */
  prependResends(rows: readonly DueDelivery[]): void {
    const others = this.#window.slice(this.#next)
    const waitingIds = new Set(others.map(({ id }) => id))
    const resends = rows.filter(({ id }) => waitingIds.has(id) || !this.loadedIds.has(id))
    for (const { id } of resends) {
      this.loadedIds.add(id)
      this.#resends.add(id)
    }
    const isOther = ({ id }: DueDelivery) => !resends.some((row) => row.id === id)
    this.#window = [...resends, ...others.filter(isOther)]
    this.#next = 0
  }

  /** Removes the first row from the window. */
  takeRow(): DueDelivery {
    const row = this.#window[this.#next++]!
    this.#resends.delete(row.id)
    if (this.windowSize === 0) {
      this.#window = []
      this.#next = 0
    }
    return row
  }

  /** Evicts the window: its rows stay pending on disk, and are read again. */
  clearWindow(now: number): void {
    if (this.windowSize === 0) return
    for (const row of this.#window.slice(this.#next)) this.loadedIds.delete(row.id)
    for (const id of this.#resends) this.resendsToRead.add(id)
    this.#resends.clear()
    this.#window = []
    this.#next = 0
    this.expectDueAt(now)
    this.readFrom = 0
  }

  /** Notes that a row outside of this memory may be due at `at`. */
  expectDueAt(at: number): void {
    if (this.nextDueAt === undefined || at < this.nextDueAt) this.nextDueAt = at
    if (at < this.readFrom) this.readFrom = at
  }

  /** When its hold or its open breaker ends; 0 when neither blocks it. */
  blockedUntil(now: number): number {
    const probeAt = this.breaker.probeAt(now) ?? 0
    const until = Math.max(this.isOnHold(now) ? this.holdUntil : 0, probeAt)
    return until > now ? until : 0
  }

  /**
   * Whether it is on hold until `Retry-After`. A hold that exceeds the longest `Retry-After` was
   * computed by a clock that ran ahead, and does not count.
   */
  isOnHold(now: number): boolean {
    return this.holdUntil > now && this.holdUntil <= now + RETRY_AFTER_MAX_MS
  }

  hasFreshRegistration(elapsedMs: number): boolean {
    return elapsedMs - this.readAtMs < REGISTRATION_FRESH_MS
  }

  /** Whether the endpoint itself permits another attempt now. */
  canStart(now: number, elapsedMs: number): boolean {
    return (
      this.windowSize > 0 &&
      this.inFlight < IN_FLIGHT_MAX &&
      !this.isGone &&
      !this.isOnHold(now) &&
      (this.breaker.admits(now, this.inFlight) || this.#canStartResend) &&
      this.hasFreshRegistration(elapsedMs)
    )
  }

  get #canStartResend(): boolean {
    return this.breaker.admitsResend && this.#resends.has(this.#window[this.#next]!.id)
  }

  /**
   * Whether the engine can evict it without losing state that affects an attempt. The look for due
   * work finds its next delivery.
   */
  isIdle(now: number): boolean {
    return (
      (this.nextDueAt ?? Number.POSITIVE_INFINITY) > now + FAR_MS &&
      this.loadedIds.size === 0 &&
      this.holdUntil <= now &&
      this.breaker.isIdle(now)
    )
  }
}

export class CustomerState {
  readonly no: number
  readonly endpoints = new Set<EndpointState>()
  inFlight = 0
  /** Bytes of large bodies in flight. */
  largeBytes = 0
  #bucket: TokenBucket | undefined
  #rate: DeliveryRate | undefined

  constructor(no: number) {
    this.no = no
  }

  /** Sets the delivery rate; undefined: unlimited. */
  setRate(rate: DeliveryRate | undefined, elapsedMs: number): void {
    const isSame =
      rate?.limit === this.#rate?.limit &&
      rate?.windowMs === this.#rate?.windowMs &&
      rate?.burst === this.#rate?.burst
    if (isSame) return
    this.#rate = rate
    if (!rate) this.#bucket = undefined
    else if (this.#bucket) this.#bucket.setRate(rate)
    else this.#bucket = new TokenBucket(rate, elapsedMs)
  }

  hasToken(elapsedMs: number): boolean {
    return this.#bucket?.hasToken(elapsedMs) ?? true
  }

  takeToken(): void {
    this.#bucket?.takeToken()
  }

  /** Whether the engine can evict it without losing state that affects a limit. */
  isIdle(elapsedMs: number): boolean {
    return this.endpoints.size === 0 && (this.#bucket?.isFull(elapsedMs) ?? true)
  }
}

export class EndpointTable {
  readonly #endpoints = new Map<number, EndpointState>()
  readonly #customers = new Map<number, CustomerState>()

  get size(): number {
    return this.#endpoints.size
  }

  get endpoints(): Iterable<EndpointState> {
    return this.#endpoints.values()
  }

  get customers(): Iterable<CustomerState> {
    return this.#customers.values()
  }

  find(no: number): EndpointState | undefined {
    return this.#endpoints.get(no)
  }

  /** Returns the endpoints of a customer that are in memory. */
  endpointsOf(customerNo: number): Iterable<EndpointState> {
    return this.#customers.get(customerNo)?.endpoints ?? []
  }

  findOrCreate(key: EndpointKey): EndpointState {
    const { no, scope } = key
    let endpoint = this.#endpoints.get(no)
    if (endpoint) return endpoint
    const customerNo = customerNoOf(scope)
    let customer = this.#customers.get(customerNo)
    if (!customer) this.#customers.set(customerNo, (customer = new CustomerState(customerNo)))
    endpoint = new EndpointState(key, customer)
    this.#endpoints.set(no, endpoint)
    customer.endpoints.add(endpoint)
    return endpoint
  }

  evict(endpoint: EndpointState): void {
    this.#endpoints.delete(endpoint.no)
    endpoint.owner.endpoints.delete(endpoint)
  }

  /** Evicts idle endpoints, except those for which `isInUse` returns true, and idle customers. */
  evictIdle(now: number, elapsedMs: number, isInUse: (endpoint: EndpointState) => boolean): void {
    for (const endpoint of this.#endpoints.values()) {
      if (endpoint.isIdle(now) && !isInUse(endpoint)) this.evict(endpoint)
    }
    for (const customer of this.#customers.values()) {
      if (customer.isIdle(elapsedMs)) this.#customers.delete(customer.no)
    }
  }
}
