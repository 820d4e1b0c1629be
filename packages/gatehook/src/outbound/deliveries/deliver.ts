/**
 * Delivers: one attempt from start to result, in order (§9.5–9.8). `startAttempts` chooses the next
 * endpoint and applies the gates: window, breaker, hold, concurrency, rate. `#start` takes the row,
 * `#send` POSTs it, `#finish` frees its slots and `#record` decides on a retry. The result stays in
 * memory until `result-writer.ts` commits it; until then the row is pending on disk.
 */
import { type Clock, earliestNow } from '../../kernel/clock.ts'
import type { Log } from '../../kernel/log.ts'
import { isDelivered, type Outcome } from '../transport/attempt.ts'
import type { AttemptFeed } from './attempt-feed.ts'
import { ConcurrencySlots } from './concurrency.ts'
import { attemptCounts, encodeAttempt } from './delivery.ts'
import type { EndpointState } from './endpoint.ts'
import { healthAfterAttempt } from './endpoint-health.ts'
import { FairQueue } from './fair-queue.ts'
import { AttemptCounter } from './metrics.ts'
import { markOf } from './outcome-summary.ts'
import {
  type DueDelivery,
  type EngineRegistration,
  type EngineStore,
  hasBody,
  isEventPurged,
  type PostDelivery,
} from './ports.ts'
import type { ResultWriter } from './result-writer.ts'
import { decideRetry, isExpired } from './retry-schedule.ts'
import type { OnDeliveryEnd } from './traced-post.ts'

interface DelivererDeps {
  readonly store: Pick<EngineStore, 'readLargeBody'>
  readonly post: PostDelivery
  readonly clock: Clock
  /** Returns a random number from 0 up to 1. */
  readonly chance: () => number
  readonly log: Log
  readonly scheduleS: readonly number[]
  readonly results: ResultWriter
  /** Receives each attempt that ended, for the app. */
  readonly feed: AttemptFeed
  readonly onResult: () => void
  /** Called when a delivery has its final state, if traces are exported. */
  readonly onEnd: OnDeliveryEnd | undefined
  /** Whether this node sends the deliveries of an endpoint. */
  readonly holds: (endpoint: EndpointState) => boolean
  /** Called when the last attempt in flight has ended. */
  readonly onQuiet: () => void
}

/**
 * Quick attempts in flight and results that are not written, of all endpoints; beyond it no attempt
 * starts. After kill -9 at most these are resent, and the slow attempts in flight.
 */
const UNSTORED_MAX = 256

interface EndedAttempt {
  readonly n: number
  readonly startedAt: number
  /** The receiver that it was sent to. */
  readonly url: string
  /** Whether its result decides on an open circuit breaker. */
  readonly isProbe: boolean
  readonly outcome: Outcome
}

export class Deliverer {
  readonly counter = new AttemptCounter()
  /** Endpoints that have had a slot freed since they were last offered. */
  readonly freedEndpoints = new Set<EndpointState>()
  readonly #deps: DelivererDeps
  readonly #queue = new FairQueue<EndpointState>()
  readonly #slots = new ConcurrencySlots()

  constructor(deps: DelivererDeps) {
    this.#deps = deps
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  /** Queues an endpoint that can start an attempt; removes one that cannot. */
  offer(endpoint: EndpointState, now: number, elapsedMs: number): void {
    if (endpoint.canStart(now, elapsedMs)) this.#queue.add(endpoint)
    else this.#queue.remove(endpoint)
  }

  /** Gives a customer turns again: a slot of it is free. */
  unblock(customer: number): void {
    this.#queue.unblock(customer)
  }

  /** Gives all customers turns again: time has passed, so that they may have tokens. */
  unblockAll(): void {
    this.#queue.unblockAll()
  }

  /** Removes an endpoint that another node serves. */
  withdraw(endpoint: EndpointState): void {
    this.#queue.remove(endpoint)
    this.freedEndpoints.delete(endpoint)
  }

  /** Starts every attempt that the gates admit; returns the endpoints whose turn came. */
  startAttempts(now: number, elapsedMs: number): ReadonlySet<EndpointState> {
    const servedEndpoints = new Set<EndpointState>()
    // Without a free slot the loop ends here, and the turn stays with the same endpoint.
    while (this.#slots.hasSlot(elapsedMs) && this.#hasRoom) {
      const endpoint = this.#queue.next()
      if (!endpoint) break
      const { owner } = endpoint
      const canStart = this.#deps.holds(endpoint) && endpoint.canStart(now, elapsedMs)
      if (!canStart || !this.#slots.fitsNextBody(endpoint)) {
        this.#queue.remove(endpoint)
      } else if (!this.#slots.hasSlotFor(owner, elapsedMs) || !owner.hasToken(elapsedMs)) {
        this.#queue.block(owner.no)
      } else {
        this.#queue.charge(endpoint, endpoint.cost)
        this.#start(endpoint, now, elapsedMs)
      }
      servedEndpoints.add(endpoint)
    }
    return servedEndpoints
  }

  get #hasRoom(): boolean {
    return this.#deps.results.size + this.#slots.quick < UNSTORED_MAX
  }

  #start(endpoint: EndpointState, now: number, elapsedMs: number): void {
    const { results, onResult } = this.#deps
    const due = endpoint.takeRow()
    const registration = endpoint.registration!
    // The delivery may be older than the registration's present scopes (§9.14).
    const isUncovered = registration.covers?.(due.eventType) === false
    if (
      isEventPurged(due) ||
      isExpired(due.createdAt, earliestNow(this.#deps.clock)) ||
      isUncovered
    ) {
      const state = isUncovered ? 'failed' : 'exhausted'
      const { id, attempt } = due
      const { scope } = endpoint
      results.addResult(endpoint, { scope, id, state, attempt, nextAt: null, record: '' })
      onResult()
      return
    }
    const { n } = attemptCounts(due.attempt + 1)
    const isProbe = endpoint.breaker.recordStart()
    endpoint.owner.takeToken()
    const { largeBytes = 0 } = due
    const slot = this.#slots.take(endpoint.owner, elapsedMs, largeBytes)
    this.#send(registration, due, { n, now }).then((outcome) => {
      this.#slots.release(endpoint.owner, slot, this.#deps.clock.elapsedMs(), largeBytes)
      this.#finish(endpoint, due, { n, startedAt: now, url: registration.url, isProbe, outcome })
    })
  }

  /** POSTs a delivery; reads a large body first. Without its body the attempt is aborted. */
  async #send(
    registration: EngineRegistration,
    due: DueDelivery,
    attempt: { readonly n: number; readonly now: number },
  ): Promise<Outcome> {
    const { post, store, log } = this.#deps
    if (hasBody(due)) return post(registration, due, attempt)
    try {
      const body = await store.readLargeBody(registration.scope, due.id)
      if (body !== undefined) return post(registration, { ...due, body }, attempt)
    } catch (error) {
      log.warn({ err: error }, 'the body of a delivery could not be read')
    }
    return { kind: 'failed', reason: 'aborted', message: 'there is no body', durationMs: 0 }
  }

  #finish(endpoint: EndpointState, due: DueDelivery, attempt: EndedAttempt): void {
    const now = this.#deps.clock.now()
    if (this.#slots.inFlight === 0) this.#deps.onQuiet()
    const { outcome } = attempt
    if (outcome.kind === 'failed' && outcome.reason === 'aborted') {
      // This process ended the attempt, not the receiver: the row stays pending as it was.
      if (attempt.isProbe) endpoint.breaker.recordAbort()
      endpoint.loadedIds.delete(due.id)
      endpoint.expectDueAt(now)
      endpoint.readFrom = 0
      return
    }
    this.counter.count(outcome)
    this.#record(endpoint, due, attempt, now)
    this.freedEndpoints.add(endpoint)
    this.#deps.onResult()
  }

  #record(endpoint: EndpointState, due: DueDelivery, attempt: EndedAttempt, now: number): void {
    const { chance, scheduleS, results } = this.#deps
    const { outcome, url, isProbe } = attempt
    const isSuccess = isDelivered(outcome)
    const { inRound } = attemptCounts(due.attempt + 1)
    const verdict = decideRetry(outcome, {
      inRound,
      now,
      scheduleS,
      chance: isSuccess ? 0 : chance(),
    })
    const { state, nextAt, holdUntil = 0 } = verdict
    const { registration } = endpoint
    if (registration) {
      this.#deps.feed.add({ ...attempt, registration, due, state, nextAt })
      if (state !== 'pending') this.#deps.onEnd?.(due, registration, state)
    }
    const record = encodeAttempt({ n: attempt.n, at: attempt.startedAt, url }, outcome)
    const { scope } = endpoint
    const { id } = due
    results.addResult(endpoint, { scope, id, state, attempt: due.attempt + 1, nextAt, record })
    if (endpoint.summary) {
      endpoint.summary.add(markOf(isSuccess, inRound, outcome.durationMs), now)
      if (due.id > endpoint.newestId) endpoint.newestId = due.id
      results.addSummary(endpoint)
    }
    // After a change of the URL, the result says nothing about the new receiver.
    if (endpoint.registration?.url !== url) return
    endpoint.breaker.recordResult(isSuccess, now, isProbe)
    const health = healthAfterAttempt(endpoint.health, isSuccess, now)
    if (health !== endpoint.health || holdUntil > endpoint.holdUntil) {
      endpoint.health = health
      endpoint.holdUntil = Math.max(holdUntil, endpoint.holdUntil)
      results.addHealth(endpoint)
    }
    if (verdict.isGone) results.addDisabling({ endpoint, url, reason: 'gone' })
  }
}
