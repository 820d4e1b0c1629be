/** The figures of the delivery engine as metrics (§12.1). Pure. */
import { gauge, histogramSamples, type Metric } from '../system/metrics.ts'
import { type Figures, LATENCY_BUCKETS_MS } from './figures.ts'

const LATENCY = 'gatehook_webhook_attempt_duration_seconds'
const BOUNDS_S = LATENCY_BUCKETS_MS.map((ms) => ms / 1000)

/** `figures` is asked for each metric: it is to be cheap. */
export const webhookMetrics = (figures: () => Figures): readonly Metric[] => [
  gauge(
    'gatehook_webhook_queue_age_seconds',
    'For how long the oldest delivery that is due has been so.',
    () => figures().queueAgeMs / 1000,
  ),
  {
    name: 'gatehook_webhook_attempts_total',
    help: 'Attempts by outcome: delivered, the class of the status, or why there was none.',
    type: 'counter',
    read: () =>
      Object.entries(figures().attempts).map(([outcome, value]) => ({
        value,
        labels: { outcome },
      })),
  },
  {
    name: LATENCY,
    help: 'Of attempts, from dialling to the whole answer.',
    type: 'histogram',
    read() {
      const { latency, latencySumMs } = figures()
      return histogramSamples(LATENCY, BOUNDS_S, latency, latencySumMs / 1000)
    },
  },
  {
    name: 'gatehook_webhook_endpoints',
    help: 'Endpoints with deliveries to send, by state of their breaker.',
    type: 'gauge',
    read: () =>
      Object.entries(figures().breakers).map(([breaker, value]) => ({
        value,
        labels: { breaker },
      })),
  },
  gauge(
    'gatehook_webhook_endpoints_parked',
    'Endpoints that asked to be left alone for a while.',
    () => figures().parked,
  ),
  gauge('gatehook_webhook_in_flight', 'Attempts under way.', () => figures().inFlight),
  gauge(
    'gatehook_webhook_results_unwritten',
    'Results of attempts not yet in the database.',
    () => figures().unwritten,
  ),
]
