/**
 * What the engine reports of its attempts: counts for each endpoint, and the latest attempts, until
 * `take` passes them to the app. Bounded, and in memory only. Pure.
 */
import { modeOf } from '../../kernel/principal.ts'
import type { Outcome } from '../transport/attempt.ts'
import { isDelivered } from '../transport/attempt.ts'
import type { StoredState } from './delivery.ts'
import type { DueDelivery, EngineRegistration } from './ports.ts'

/** The attempts of one endpoint by result. */
export interface AttemptCounts {
  readonly customer: string
  readonly mode: string
  readonly webhook: string
  delivered: number
  failed: number
}

/** One attempt that ended. */
export interface AttemptFact {
  readonly customer: string
  readonly mode: string
  readonly webhook: string
  readonly delivery: string
  readonly event: string
  readonly event_type: string
  readonly attempt: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly status: number | null
  readonly error: string | null
  readonly took_ms: number
  readonly state: StoredState
  readonly next_attempt_at: number | null
}

export interface AttemptReport {
  readonly counts: readonly AttemptCounts[]
  /** The first attempts since the last report. */
  readonly attempts: readonly AttemptFact[]
  /** Attempts that `attempts` leaves out. */
  readonly omitted: number
}

/** Attempts and endpoints of one report; further endpoints share an entry without names. */
const ATTEMPTS_MAX = 100
const ENDPOINTS_MAX = 2000

interface ReportedAttempt {
  readonly registration: EngineRegistration
  readonly due: DueDelivery
  readonly n: number
  readonly startedAt: number
  readonly outcome: Outcome
  readonly state: StoredState
  readonly nextAt: number | null
}

export class AttemptFeed {
  #counts = new Map<number, AttemptCounts>()
  #attempts: AttemptFact[] = []
  #omitted = 0

  add(attempt: ReportedAttempt): void {
    const counts = this.#countsOf(attempt.registration)
    if (isDelivered(attempt.outcome)) counts.delivered++
    else counts.failed++
    if (this.#attempts.length < ATTEMPTS_MAX) this.#attempts.push(factOf(attempt))
    else this.#omitted++
  }

  /** Returns and removes all attempts; undefined if there are none. */
  take(): AttemptReport | undefined {
    if (this.#counts.size === 0) return undefined
    const report = {
      counts: [...this.#counts.values()],
      attempts: this.#attempts,
      omitted: this.#omitted,
    }
    this.#counts = new Map()
    this.#attempts = []
    this.#omitted = 0
    return report
  }

  #countsOf({ no, id, customerId, scope }: EngineRegistration): AttemptCounts {
    const isFull = this.#counts.size >= ENDPOINTS_MAX
    const key = isFull && !this.#counts.has(no) ? -1 : no
    let counts = this.#counts.get(key)
    if (!counts) {
      counts =
        key < 0
          ? { customer: '', mode: '', webhook: '', delivered: 0, failed: 0 }
          : { customer: customerId, mode: modeOf(scope), webhook: id, delivered: 0, failed: 0 }
      this.#counts.set(key, counts)
    }
    return counts
  }
}

function factOf({ registration, due, n, startedAt, outcome, state, nextAt }: ReportedAttempt) {
  const isAnswered = outcome.kind === 'answered'
  return {
    customer: registration.customerId,
    mode: modeOf(registration.scope),
    webhook: registration.id,
    delivery: due.id,
    event: due.eventId,
    event_type: due.eventType,
    attempt: n,
    at: startedAt,
    status: isAnswered ? outcome.status : null,
    error: isAnswered ? null : outcome.reason,
    took_ms: Math.round(outcome.durationMs * 100) / 100,
    state,
    next_attempt_at: nextAt,
  }
}
