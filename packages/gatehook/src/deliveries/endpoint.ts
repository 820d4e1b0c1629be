/**
 * What the engine remembers of an endpoint and of a customer while they have work. All of it can be
 * lost: rows on disk say what is to be done.
 */
import { Breaker } from './breaker.ts'
import { Bucket, type Rate } from './bucket.ts'
import type { Queued } from './drr.ts'
import type { Health } from './health.ts'
import { RETRY_AFTER_MAX_MS } from './schedule.ts'
import type { Due, Registration } from './work.ts'

/**
 * At most so many POSTs to one endpoint at a time (§9.7), until their results are committed: who
 * is killed sends no more than these again.
 */
const IN_FLIGHT_MAX = 20
/** A registration read longer ago (real time) is read again before anything is sent to it. */
const FRESH_MS = 1_000
/** A body costs one turn, and one more for each so many characters. */
const COST_CHARACTERS = 16_384

export class Endpoint implements Queued {
  readonly no: number
  readonly customer: number
  readonly owner: Customer
  breaker = new Breaker()
  /** Rows in this memory: waiting, under way, or with a result that is not written yet. */
  readonly known = new Set<number>()
  registration: Registration | undefined
  readAt = Number.NEGATIVE_INFINITY
  /** When the first row we do not know is due; undefined: none is known of. */
  dueAt: number | undefined
  parkedUntil = 0
  /** Results that are not committed. */
  unwritten = 0
  gathering = false
  /** Somebody said that something of it is new. */
  changed = false
  /** Of the bodies it gets, roughly. */
  bodyCharacters = 1024
  health: Health = { firstFailureAt: null, lastFailureAt: null, lastSuccessAt: null }
  #rows: readonly Due[] = []
  #next = 0

  constructor(no: number, owner: Customer) {
    this.no = no
    this.customer = owner.no
    this.owner = owner
  }

  get waiting(): number {
    return this.#rows.length - this.#next
  }

  /** POSTs whose result is not committed. */
  get inFlight(): number {
    return this.known.size - this.waiting
  }

  /** It waits for its results to be written. */
  get isPressed(): boolean {
    return this.unwritten > 0 && this.inFlight >= IN_FLIGHT_MAX && this.waiting > 0
  }

  get cost(): number {
    const next = this.#rows[this.#next]
    return 1 + Math.floor((next?.largeBytes ?? next?.body?.length ?? 0) / COST_CHARACTERS)
  }

  /** Bytes of the body that would be sent next, where it is a large one; else 0. */
  get nextLargeBytes(): number {
    return this.#rows[this.#next]?.largeBytes ?? 0
  }

  /** Rows just read. */
  put(rows: readonly Due[]): void {
    if (rows.length === 0) return
    this.#rows = this.waiting === 0 ? rows : [...this.#rows.slice(this.#next), ...rows]
    this.#next = 0
    let characters = 0
    for (const row of rows) {
      this.known.add(row.no)
      characters += row.body?.length ?? 0
    }
    this.bodyCharacters = Math.max(256, characters / rows.length)
  }

  shift(): Due {
    const row = this.#rows[this.#next++]!
    if (this.waiting === 0) {
      this.#rows = []
      this.#next = 0
    }
    return row
  }

  /** Forgets what waits: it is on disk, and will be read again. */
  drop(now: number): void {
    if (this.waiting === 0) return
    for (const row of this.#rows.slice(this.#next)) this.known.delete(row.no)
    this.#rows = []
    this.#next = 0
    this.expect(now)
  }

  /** Something may be due then. */
  expect(at: number): void {
    if (this.dueAt === undefined || at < this.dueAt) this.dueAt = at
  }

  /** When it may be sent to again, or 0: now. */
  closedUntil(now: number): number {
    const opensAt = this.breaker.opensAt(now) ?? 0
    const until = Math.max(this.isParked(now) ? this.parkedUntil : 0, opensAt)
    return until > now ? until : 0
  }

  /** Not for longer than a receiver can ask for: the clock that said so ran ahead. */
  isParked(now: number): boolean {
    return this.parkedUntil > now && this.parkedUntil <= now + RETRY_AFTER_MAX_MS
  }

  isFresh(elapsedMs: number): boolean {
    return elapsedMs - this.readAt < FRESH_MS
  }

  /** Whether one that waits may be sent now, as far as the endpoint is concerned. */
  mayStart(now: number, elapsedMs: number): boolean {
    return (
      this.waiting > 0 &&
      this.inFlight < IN_FLIGHT_MAX &&
      !this.isParked(now) &&
      this.breaker.admits(now, this.inFlight) &&
      this.isFresh(elapsedMs)
    )
  }

  /** Nothing would be missed. */
  isIdle(now: number): boolean {
    return (
      this.dueAt === undefined &&
      this.known.size === 0 &&
      this.parkedUntil <= now &&
      this.breaker.isIdle(now)
    )
  }
}

export class Customer {
  readonly no: number
  readonly endpoints = new Set<Endpoint>()
  inFlight = 0
  /** Bytes of large bodies in flight. */
  largeBytes = 0
  /** It was its turn and it had no tokens, or all the sockets that are its share. */
  held = false
  #bucket: Bucket | undefined
  #rate: Rate | undefined

  constructor(no: number) {
    this.no = no
  }

  /** `rate` undefined: no limit. */
  limit(rate: Rate | undefined, elapsedMs: number): void {
    const same =
      rate?.limit === this.#rate?.limit &&
      rate?.windowMs === this.#rate?.windowMs &&
      rate?.burst === this.#rate?.burst
    if (same) return
    this.#rate = rate
    if (!rate) this.#bucket = undefined
    else if (this.#bucket) this.#bucket.retune(rate)
    else this.#bucket = new Bucket(rate, elapsedMs)
  }

  hasToken(elapsedMs: number): boolean {
    return this.#bucket?.has(elapsedMs) ?? true
  }

  takeToken(): void {
    this.#bucket?.take()
  }

  isIdle(elapsedMs: number): boolean {
    return this.endpoints.size === 0 && (this.#bucket?.isFull(elapsedMs) ?? true)
  }
}
