/** How long due deliveries wait: for receivers, and for the node alone. Pure. */
import type { EndpointState } from './endpoint.ts'

type WaitingEndpoint = Pick<EndpointState, 'holdUntil' | 'nextDueAt'> & {
  readonly breaker: Pick<EndpointState['breaker'], 'state'>
}

export interface QueueAges {
  /** How long the oldest due delivery has been due; 0 when none is. */
  readonly queueAgeMs: number
  /** The same without endpoints whose breaker is open: their deliveries wait for the receiver. */
  readonly lateMs: number
}

/** Endpoints on hold until `Retry-After` do not count. */
export function queueAgesOf(endpoints: Iterable<WaitingEndpoint>, now: number): QueueAges {
  let oldest = now
  let oldestLate = now
  for (const { holdUntil, nextDueAt = now, breaker } of endpoints) {
    if (holdUntil > now) continue
    oldest = Math.min(oldest, nextDueAt)
    if (breaker.state === 'closed') oldestLate = Math.min(oldestLate, nextDueAt)
  }
  return { queueAgeMs: now - oldest, lateMs: now - oldestLate }
}
