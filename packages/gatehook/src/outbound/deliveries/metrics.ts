/** The figures of the delivery engine, and their metrics (§12.1). Pure. */
import { gauge, histogramSamples, type Metric } from '../../platform/telemetry/metric.ts'
import { isDelivered, type Outcome } from '../transport/attempt.ts'
import type { HealthState } from './outcome-summary.ts'
import type { QueueAges } from './queue-age.ts'

/** Upper bounds of the latency histogram, in milliseconds. */
const LATENCY_BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000] as const

export interface DeliveryFigures extends QueueAges {
  /** Attempts since the start by outcome: `delivered`, `4xx`, `timeout`, … */
  readonly attempts: Readonly<Record<string, number>>
  /** Attempts in each bucket of the histogram; the last bucket has no upper bound. */
  readonly latency: readonly number[]
  readonly latencySumMs: number
  readonly inFlight: number
  /** Endpoints in memory by the state of their breaker. */
  readonly breakers: { readonly closed: number; readonly open: number; readonly probing: number }
  /** Endpoints in memory by the state of their receiver. */
  readonly health: Readonly<Record<Exclude<HealthState, 'off'>, number>>
  /** Endpoints on hold until `Retry-After`. */
  readonly onHold: number
  /** Results that are not written. */
  readonly unwritten: number
}

export const NO_FIGURES: DeliveryFigures = {
  attempts: {},
  latency: new Array<number>(LATENCY_BUCKETS_MS.length + 1).fill(0),
  latencySumMs: 0,
  inFlight: 0,
  queueAgeMs: 0,
  lateMs: 0,
  breakers: { closed: 0, open: 0, probing: 0 },
  health: { new: 0, healthy: 0, some_fail: 0, slow: 0, failing: 0 },
  onHold: 0,
  unwritten: 0,
}

/** Counts attempts by outcome and duration. */
export class AttemptCounter {
  readonly attempts: Record<string, number> = {}
  readonly latency = new Array<number>(LATENCY_BUCKETS_MS.length + 1).fill(0)
  latencySumMs = 0

  count(outcome: Outcome): void {
    const label = labelOf(outcome)
    this.attempts[label] = (this.attempts[label] ?? 0) + 1
    this.latencySumMs += outcome.durationMs
    let bucket = 0
    while (outcome.durationMs > (LATENCY_BUCKETS_MS[bucket] ?? Number.POSITIVE_INFINITY))
      bucket += 1
    this.latency[bucket]!++
  }
}

function labelOf(outcome: Outcome): string {
  if (outcome.kind === 'failed') return outcome.reason
  return isDelivered(outcome) ? 'delivered' : `${Math.floor(outcome.status / 100)}xx`
}

const LATENCY = 'gatehook_webhook_attempt_duration_seconds'
const BOUNDS_S = LATENCY_BUCKETS_MS.map((ms) => ms / 1000)

/** Returns the metrics of the engine. Each metric calls `figures`, which must be cheap. */
export const webhookMetrics = (figures: () => DeliveryFigures): readonly Metric[] => [
  gauge(
    'gatehook_webhook_queue_age_seconds',
    'How long the oldest due delivery has been due, receivers that fail or are slow included.',
    () => figures().queueAgeMs / 1000,
  ),
  gauge(
    'gatehook_webhook_late_seconds',
    'How long the oldest due delivery waits for this node, and for no receiver or customer.',
    () => figures().lateMs / 1000,
  ),
  {
    name: 'gatehook_webhook_attempts_total',
    help: 'Attempts by outcome: delivered, the class of the status, or the reason of the failure.',
    type: 'counter',
    read: () =>
      Object.entries(figures().attempts).map(([outcome, value]) => ({
        value,
        labels: { outcome },
      })),
  },
  {
    name: LATENCY,
    help: 'Duration of attempts, from the connection to the end of the response.',
    type: 'histogram',
    read() {
      const { latency, latencySumMs } = figures()
      return histogramSamples(LATENCY, BOUNDS_S, latency, latencySumMs / 1000)
    },
  },
  {
    name: 'gatehook_webhook_endpoints',
    help: 'Endpoints with deliveries to send, by the state of their circuit breaker.',
    type: 'gauge',
    read: () =>
      Object.entries(figures().breakers).map(([breaker, value]) => ({
        value,
        labels: { breaker },
      })),
  },
  {
    name: 'gatehook_webhook_receivers',
    help: 'Endpoints with deliveries to send, by the state of their receiver.',
    type: 'gauge',
    read: () =>
      Object.entries(figures().health).map(([health, value]) => ({ value, labels: { health } })),
  },
  gauge(
    'gatehook_webhook_endpoints_parked',
    'Endpoints on hold until Retry-After.',
    () => figures().onHold,
  ),
  gauge('gatehook_webhook_in_flight', 'Attempts in flight.', () => figures().inFlight),
  gauge(
    'gatehook_webhook_results_unwritten',
    'Results of attempts that are not yet in the database.',
    () => figures().unwritten,
  ),
]
