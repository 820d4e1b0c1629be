/**
 * The spans of deliveries and their attempts, in the trace of the event. Attempts of one delivery
 * may run days apart and on several nodes: the id of the delivery's span follows from its id, and
 * the node of the last attempt exports the span.
 */
import { createHash } from 'node:crypto'
import { formatTraceparent, parseTraceparent, type Tracing } from '../../kernel/tracing.ts'
import { isDelivered } from '../transport/attempt.ts'
import { attemptCounts, type StoredState } from './delivery.ts'
import type { DueDelivery, EngineRegistration, PostDelivery } from './ports.ts'

const SPAN_ID_DIGITS = 16

/** Returns the id of the span of a delivery; a resend begins another span. */
function deliverySpanId({ id, attempt }: Pick<DueDelivery, 'id' | 'attempt'>): string {
  const { inRound, n } = attemptCounts(attempt + 1)
  const digits = createHash('sha256')
    .update(`${id} ${n - inRound}`)
    .digest('hex')
  return digits.slice(0, SPAN_ID_DIGITS)
}

const attributesOf = (due: DueDelivery, { id, customerId }: EngineRegistration) => ({
  'gatehook.customer': customerId,
  'gatehook.delivery': due.id,
  'gatehook.event': due.eventId,
  'gatehook.event.type': due.eventType,
  'gatehook.webhook': id,
})

/** Returns the POST of an attempt inside its span, which receivers get as `traceparent`. */
export function tracePost(tracing: Tracing, post: PostDelivery): PostDelivery {
  return async (registration, due, attempt) => {
    const event = parseTraceparent(due.trace)
    if (!event) return post(registration, due, attempt)
    const { host } = new URL(registration.url)
    const span = tracing.start({
      name: `POST ${host}`,
      kind: 'client',
      parent: formatTraceparent({ ...event, spanId: deliverySpanId(due) }),
      attributes: {
        ...attributesOf(due, registration),
        'http.request.method': 'POST',
        'server.address': host,
        'gatehook.attempt': attempt.n,
      },
    })
    const headers = { traceparent: span.traceparent }
    const outcome = await post(registration, due, { ...attempt, headers })
    const isAnswered = outcome.kind === 'answered'
    span.end({
      attributes: {
        'http.response.status_code': isAnswered ? outcome.status : undefined,
        'error.type': isAnswered ? undefined : outcome.reason,
      },
      ...(!isDelivered(outcome) && {
        error: isAnswered ? `status ${outcome.status}` : outcome.message,
      }),
    })
    return outcome
  }
}

/** Called when a delivery has its final state. */
export type OnDeliveryEnd = (
  due: DueDelivery,
  registration: EngineRegistration,
  state: StoredState,
) => void

/** Returns the function that exports the span of a delivery that ended. */
export const traceDeliveries =
  (tracing: Tracing): OnDeliveryEnd =>
  (due, registration, state) => {
    if (!parseTraceparent(due.trace)) return
    const span = tracing.start({
      name: `delivery ${due.eventType}`,
      kind: 'internal',
      parent: due.trace,
      id: deliverySpanId(due),
      startMs: due.createdAt,
      attributes: { ...attributesOf(due, registration), 'gatehook.delivery.state': state },
    })
    span.end(state === 'delivered' ? {} : { error: state })
  }
