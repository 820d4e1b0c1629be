/**
 * The delivery engine (§9.6–9.8, §9.12): a small window of each endpoint's due rows in memory, the
 * rest on disk; sends by turns; writes results in batches. It owns no thread, no socket, no SQL and
 * no time: `loop.ts` turns it, tests turn it by `tick`.
 *
 * What it holds can be lost at any moment: a row is pending on disk until its result is written.
 */
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { isDelivered, type Outcome } from '../transport/attempt.ts'
import type { Rate } from './bucket.ts'
import { attemptsMade, storedAttempt } from './delivery.ts'
import { Fairness } from './drr.ts'
import type { Endpoint } from './endpoint.ts'
import { type Figures, Tally } from './figures.ts'
import { Gatherer } from './gatherer.ts'
import { afterAttempt } from './health.ts'
import { Ledger } from './ledger.ts'
import { Places } from './places.ts'
import { Roster } from './roster.ts'
import { isExpired, judge } from './schedule.ts'
import { type Due, hasBody, isGone, type Leases, type Post, type WorkStore } from './work.ts'

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

/** Results that wait to be written, of all endpoints; beyond it nothing is started. */
const UNWRITTEN_MAX = 512

interface Ended {
  readonly n: number
  /** When it was started. */
  readonly at: number
  /** The receiver it was sent to. */
  readonly url: string
  readonly outcome: Outcome
}

type PostOfDue = readonly [
  registration: Parameters<Post>[0],
  due: Due,
  attempt: Parameters<Post>[2],
]

export class Engine {
  /** An endpoint waits for its results to be written, before it is sent more. */
  isPressed = false
  readonly #deps: EngineDeps
  readonly #roster = new Roster()
  readonly #fairness = new Fairness<Endpoint>()
  readonly #ledger: Ledger
  readonly #gatherer: Gatherer
  readonly #tally = new Tally()
  readonly #places = new Places()
  /** Where a place became free since the last turn. */
  readonly #freed = new Set<Endpoint>()
  /** Rows in windows, as the last sweep found them. */
  #waiting = 0
  #draining = false
  #ended: (() => void) | undefined

  constructor(deps: EngineDeps) {
    this.#deps = deps
    this.#ledger = new Ledger(deps.store)
    this.#gatherer = new Gatherer({ ...deps, roster: this.#roster, ledger: this.#ledger })
  }

  /** Results to write, or registrations to switch off. */
  get hasResults(): boolean {
    return !this.#ledger.isEmpty
  }

  /** Results that wait to be written. */
  get unwritten(): number {
    return this.#ledger.size
  }

  /** Places that may be taken. */
  get hasPlaces(): boolean {
    return this.#freed.size > 0
  }

  /** Windows to fill, or a look at all endpoints that is due. */
  get isHungry(): boolean {
    return !this.#draining && this.#gatherer.isHungry
  }

  /** Something waits for time or for an answer. */
  get isBusy(): boolean {
    return this.#places.taken > 0 || this.#waiting > 0
  }

  /** One whole turn: what tests call. */
  async tick(): Promise<void> {
    await this.settle()
    this.sweep()
    while (this.isHungry) {
      await this.gather()
      this.dispatch()
    }
  }

  /** These registrations have something new that is due, or were changed. */
  async wake(nos: readonly number[]): Promise<void> {
    for (const no of nos) {
      const endpoint = await this.#gatherer.meet(no)
      if (!endpoint) continue
      const now = this.#deps.clock.now()
      endpoint.expect(now)
      endpoint.changed = true
      this.#gatherer.consider(endpoint, now)
    }
  }

  /** Time has passed: who may go on goes on. */
  sweep(): void {
    const { clock, leases } = this.#deps
    const now = clock.now()
    const elapsedMs = clock.elapsedMs()
    for (const customer of this.#roster.customers) customer.held = false
    this.#waiting = 0
    for (const endpoint of this.#roster.endpoints) {
      if (!leases.holds(endpoint.customer)) endpoint.drop(now)
      this.#offer(endpoint, now, elapsedMs)
      this.#gatherer.consider(endpoint, now)
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
    const served = new Set<Endpoint>()
    // Where nobody may start any more, whose turn it is stays as it is.
    while (this.#ledger.size < UNWRITTEN_MAX && this.#places.hasAny(elapsedMs)) {
      const endpoint = this.#fairness.next()
      if (!endpoint) break
      const { owner } = endpoint
      if (!endpoint.mayStart(now, elapsedMs) || !this.#places.hasRoomFor(endpoint)) {
        this.#fairness.remove(endpoint)
      } else if (!this.#places.hasFor(owner, elapsedMs) || !owner.hasToken(elapsedMs)) {
        owner.held = true
        this.#fairness.removeCustomer(owner.no)
      } else {
        this.#fairness.served(endpoint, endpoint.cost)
        this.#start(endpoint, now, elapsedMs)
      }
      served.add(endpoint)
    }
    for (const endpoint of served) this.#gatherer.consider(endpoint, now)
  }

  /** Attempts ended: others go on in their places. Once for all of a turn of the loop. */
  turn(): void {
    const now = this.#deps.clock.now()
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const endpoint of this.#freed) {
      const { owner } = endpoint
      if (owner.held) {
        owner.held = false
        for (const one of owner.endpoints) this.#offer(one, now, elapsedMs)
      }
      this.#offer(endpoint, now, elapsedMs)
      this.#gatherer.consider(endpoint, now)
    }
    this.#freed.clear()
    this.dispatch()
  }

  /** Fills windows from the store. */
  async gather(): Promise<void> {
    const read = await this.#gatherer.gather()
    const now = this.#deps.clock.now()
    const elapsedMs = this.#deps.clock.elapsedMs()
    for (const endpoint of read) {
      this.#offer(endpoint, now, elapsedMs)
      this.#gatherer.consider(endpoint, now)
    }
  }

  /** Writes the results there are. Throws when they cannot be written; they are kept. */
  settle(): Promise<void> {
    this.isPressed = false
    const written = (endpoint: Endpoint) => void this.#freed.add(endpoint)
    return this.#ledger.settle(written, ({ endpoint, reason }) => {
      endpoint.readAt = Number.NEGATIVE_INFINITY
      this.#gatherer.consider(endpoint, this.#deps.clock.now())
      this.#deps.log.warn({ webhook: endpoint.registration?.id, reason }, 'webhook disabled')
    })
  }

  /**
   * Nothing more is started. Resolves when all that ran is written, or, where somebody aborts it
   * meanwhile, left pending as it was.
   */
  async drain(): Promise<void> {
    this.#draining = true
    while (this.#places.taken > 0) {
      await new Promise<void>((resolve) => {
        this.#ended = resolve
      })
    }
    await this.settle()
  }

  figures(): Figures {
    const now = this.#deps.clock.now()
    const breakers = { closed: 0, open: 0, probing: 0 }
    let parked = 0
    let oldest = now
    for (const endpoint of this.#roster.endpoints) {
      breakers[endpoint.breaker.state] += 1
      if (endpoint.parkedUntil > now) parked += 1
      else if (endpoint.dueAt !== undefined && endpoint.dueAt < oldest) oldest = endpoint.dueAt
    }
    const { attempts, latency, latencySumMs } = this.#tally
    return {
      attempts: { ...attempts },
      latency: [...latency],
      latencySumMs,
      inFlight: this.#places.taken,
      queueAgeMs: now - oldest,
      breakers,
      parked,
      unwritten: this.#ledger.size,
    }
  }

  #start(endpoint: Endpoint, now: number, elapsedMs: number): void {
    const due = endpoint.shift()
    const { no, attempt } = due
    // It was made before the registration lost a scope (§9.14): there is no attempt.
    const isUncovered = endpoint.registration!.covers?.(due.eventType) === false
    if (isGone(due) || isExpired(due.createdAt, now) || isUncovered) {
      const state = isUncovered ? 'failed' : 'exhausted'
      this.#ledger.add(endpoint, { no, state, attempt, nextAt: null, record: '' })
      this.#deps.nudge?.()
      return
    }
    const { n } = attemptsMade(attempt + 1)
    endpoint.breaker.sent()
    endpoint.owner.takeToken()
    const { largeBytes = 0 } = due
    const start = this.#places.take(endpoint.owner, elapsedMs, largeBytes)
    const registration = endpoint.registration!
    this.#post(registration, due, { n, now }).then((outcome) => {
      this.#places.free(endpoint.owner, start, this.#deps.clock.elapsedMs(), largeBytes)
      this.#finish(endpoint, due, { n, at: now, url: registration.url, outcome })
    })
  }

  /** A large body is read now. Where it cannot be, nothing was sent: the row stays as it is. */
  async #post(...[registration, due, attempt]: PostOfDue): Promise<Outcome> {
    const { post, store, log } = this.#deps
    if (hasBody(due)) return post(registration, due, attempt)
    try {
      const body = await store.largeBody(due.no)
      if (body !== undefined) return post(registration, { ...due, body }, attempt)
    } catch (error) {
      log.warn({ err: error }, 'the body of a delivery could not be read')
    }
    return { kind: 'failed', reason: 'aborted', message: 'there is no body', durationMs: 0 }
  }

  #finish(endpoint: Endpoint, due: Due, ended: Ended): void {
    const now = this.#deps.clock.now()
    if (this.#places.taken === 0) this.#ended?.()
    const { outcome } = ended
    if (outcome.kind === 'failed' && outcome.reason === 'aborted') {
      // Ours, not the receiver's: the row is pending as before.
      endpoint.breaker.withdrawn()
      endpoint.known.delete(due.no)
      endpoint.expect(now)
      return
    }
    this.#tally.count(outcome)
    this.#record(endpoint, due, ended, now)
    this.#freed.add(endpoint)
    if (endpoint.isPressed) this.isPressed = true
    this.#deps.nudge?.()
  }

  #record(endpoint: Endpoint, due: Due, { n, at, url, outcome }: Ended, now: number): void {
    const { chance, scheduleS } = this.#deps
    const delivered = isDelivered(outcome)
    const { inRound } = attemptsMade(due.attempt + 1)
    const verdict = judge(outcome, { n: inRound, now, scheduleS, chance: delivered ? 0 : chance() })
    const { state, nextAt, parkedUntil = 0 } = verdict
    const record = storedAttempt(n, at, outcome)
    this.#ledger.add(endpoint, { no: due.no, state, attempt: due.attempt + 1, nextAt, record })
    if (endpoint.registration?.url !== url) return // it tells nothing of the new receiver
    endpoint.breaker.record(delivered, now)
    const health = afterAttempt(endpoint.health, delivered, now)
    if (health !== endpoint.health || parkedUntil > endpoint.parkedUntil) {
      endpoint.health = health
      endpoint.parkedUntil = Math.max(parkedUntil, endpoint.parkedUntil)
      this.#ledger.note(endpoint)
    }
    if (verdict.gone) this.#ledger.switchOff({ endpoint, url, reason: 'gone' })
  }

  #offer(endpoint: Endpoint, now: number, elapsedMs: number): void {
    if (endpoint.owner.held) return
    if (endpoint.mayStart(now, elapsedMs)) this.#fairness.add(endpoint)
    else this.#fairness.remove(endpoint)
  }
}
