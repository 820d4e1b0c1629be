/**
 * The words of deliveries: what the log, the engine and the API say to each other. A delivery is one
 * event to one registration; an attempt is one POST of it. No SQL, no sockets here.
 */
import type { Scope } from '../kernel/principal.ts'
import { isDelivered, type Outcome } from './attempt.ts'

/** As stored; see the migration for why `paused` is not. */
export type StoredState = 'pending' | 'delivered' | 'failed' | 'exhausted'
/** As shown (§9.10). */
export type DeliveryState = StoredState | 'paused'

/** What a pending delivery is to those who look: it depends on its registration. */
export function shownState(
  state: StoredState,
  registration: { readonly active: number; readonly deleted_at: number | null } | undefined,
): DeliveryState {
  if (state !== 'pending') return state
  if (!registration || registration.deleted_at !== null) return 'failed'
  return registration.active === 1 ? 'pending' : 'paused'
}

/** One attempt as the log keeps and shows it (§9.10). */
export interface AttemptRecord {
  readonly n: number
  /** ISO 8601. */
  readonly at: string
  /** Of the answer; null where there was none. */
  readonly status: number | null
  readonly duration_ms: number
  readonly error: string | null
  readonly response_headers: Readonly<Record<string, string>> | null
  readonly response_body: string | null
}

export function attemptRecord(n: number, at: string, outcome: Outcome): AttemptRecord {
  const duration_ms = Math.round(outcome.durationMs)
  if (outcome.kind === 'failed') {
    const error = `${outcome.reason}: ${outcome.message}`
    return { n, at, status: null, duration_ms, error, response_headers: null, response_body: null }
  }
  const { status, headers, body } = outcome
  const error = isDelivered(outcome) ? null : `the receiver answered ${status}`
  return { n, at, status, duration_ms, error, response_headers: headers, response_body: body }
}

/** The `attempts` column, as the array it means. */
export const attemptsOf = (stored: string | null): AttemptRecord[] =>
  stored === null ? [] : (JSON.parse(`[${stored}]`) as AttemptRecord[])

/** A delivery to be made: again, of an event recorded before (resend, recover, replay). */
export interface NewDelivery {
  readonly scope: Scope
  readonly webhookNo: number
  readonly eventId: string
  readonly eventType: string
  /** The registration's pinned version: which body is sent. */
  readonly version: string
}
