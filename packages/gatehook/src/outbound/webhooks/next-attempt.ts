/** Why the next attempt of a delivery is when it is, from stored facts (§9.6, §9.7). Pure. */
import type { AttemptRecord } from '../deliveries/delivery.ts'

export const NEXT_REASONS = ['schedule', 'retry_after', 'breaker', 'hold', 'paused'] as const

export type NextReason = (typeof NEXT_REASONS)[number]

/** The stored facts about an endpoint. */
export interface EndpointFacts {
  /** The end of a hold by `Retry-After`. */
  readonly hold_until: number | null
  readonly breaker: string | undefined
  readonly breaker_until: number | null | undefined
}

/** Responses that put an endpoint on hold, also without `Retry-After`. */
const BUSY: ReadonlySet<number | null> = new Set([429, 503])

/** Returns null for a delivery that has no next attempt, or had none yet and waits for nothing. */
export function nextReasonOf(
  delivery: { readonly state: string; readonly attempts: readonly AttemptRecord[] },
  endpoint: EndpointFacts,
  now: number,
): NextReason | null {
  if (delivery.state === 'paused') return 'paused'
  if (delivery.state !== 'pending') return null
  if (endpoint.hold_until !== null && endpoint.hold_until > now) return 'hold'
  if (endpoint.breaker === 'open' && (endpoint.breaker_until ?? 0) > now) return 'breaker'
  const last = delivery.attempts.at(-1)
  if (!last) return null
  const isBusy = BUSY.has(last.status) || last.response_headers?.['retry-after'] !== undefined
  return isBusy ? 'retry_after' : 'schedule'
}
