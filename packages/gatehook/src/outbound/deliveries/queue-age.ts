/** How long due deliveries wait: for receivers and customers, and for the node alone. Pure. */
import type { CustomerState, EndpointState } from './endpoint.ts'

type WaitingEndpoint = Pick<EndpointState, 'holdUntil' | 'nextDueAt'> & {
  readonly breaker: Pick<EndpointState['breaker'], 'state'>
  readonly summary: Pick<NonNullable<EndpointState['summary']>, 'state'> | undefined
  readonly owner: Pick<CustomerState, 'hasToken'>
}

export interface QueueAges {
  /** How long the oldest due delivery has been due; 0 when none is. */
  readonly queueAgeMs: number
  /** The same of deliveries that neither their receiver nor the rate of their customer delays. */
  readonly lateMs: number
}

/** Whether the receiver fails or is slow, or the customer has used its rate. */
const isHeldUp = ({ breaker, summary, owner }: WaitingEndpoint, elapsedMs: number): boolean =>
  breaker.state !== 'closed' ||
  summary?.state === 'failing' ||
  summary?.state === 'slow' ||
  !owner.hasToken(elapsedMs)

/** Endpoints on hold until `Retry-After` do not count. */
export function queueAgesOf(
  endpoints: Iterable<WaitingEndpoint>,
  now: number,
  elapsedMs: number,
): QueueAges {
  let oldest = now
  let oldestLate = now
  for (const endpoint of endpoints) {
    const { holdUntil, nextDueAt = now } = endpoint
    if (holdUntil > now || nextDueAt >= now) continue
    oldest = Math.min(oldest, nextDueAt)
    if (!isHeldUp(endpoint, elapsedMs)) oldestLate = Math.min(oldestLate, nextDueAt)
  }
  return { queueAgeMs: now - oldest, lateMs: now - oldestLate }
}
