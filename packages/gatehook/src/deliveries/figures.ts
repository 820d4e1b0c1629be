/** What the engine counts, for `/metrics` and the pages (§12.1). Pure. */
import { isDelivered, type Outcome } from '../transport/attempt.ts'

/** Upper bounds of the latency histogram, milliseconds. */
export const LATENCY_BUCKETS_MS = [
  5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000,
] as const

export interface Figures {
  /** Attempts since the start by outcome: `delivered`, `4xx`, `timeout`, … */
  readonly attempts: Readonly<Record<string, number>>
  /** Of attempts: as many as there are bounds and one beyond, each bucket for itself. */
  readonly latency: readonly number[]
  readonly latencySumMs: number
  readonly inFlight: number
  /** For how long the oldest delivery that is due has been so; 0: none waits. */
  readonly queueAgeMs: number
  /** Endpoints in memory by state of their breaker. */
  readonly breakers: { readonly closed: number; readonly open: number; readonly probing: number }
  readonly parked: number
  /** Results not written yet. */
  readonly unwritten: number
}

export const NO_FIGURES: Figures = {
  attempts: {},
  latency: new Array<number>(LATENCY_BUCKETS_MS.length + 1).fill(0),
  latencySumMs: 0,
  inFlight: 0,
  queueAgeMs: 0,
  breakers: { closed: 0, open: 0, probing: 0 },
  parked: 0,
  unwritten: 0,
}

export class Tally {
  readonly attempts: Record<string, number> = {}
  readonly latency = new Array<number>(LATENCY_BUCKETS_MS.length + 1).fill(0)
  latencySumMs = 0

  count(outcome: Outcome): void {
    const name = nameOf(outcome)
    this.attempts[name] = (this.attempts[name] ?? 0) + 1
    this.latencySumMs += outcome.durationMs
    let at = 0
    while (outcome.durationMs > (LATENCY_BUCKETS_MS[at] ?? Number.POSITIVE_INFINITY)) at += 1
    this.latency[at]!++
  }
}

function nameOf(outcome: Outcome): string {
  if (outcome.kind === 'failed') return outcome.reason
  return isDelivered(outcome) ? 'delivered' : `${Math.floor(outcome.status / 100)}xx`
}
