/**
 * The words of deliveries: what the log, the engine and the API say to each other. A delivery is
 * one event to one registration; an attempt is one POST of it. No SQL, no sockets here.
 */
import { isoTime } from '../kernel/time.ts'
import { isDelivered, type Outcome } from '../transport/attempt.ts'

/** As stored; see the migration for why `paused` is not. */
export type StoredState = 'pending' | 'delivered' | 'failed' | 'exhausted'
/** As shown (§9.10). */
export type DeliveryState = StoredState | 'paused'

/** Sent again, a delivery has a whole schedule before it: a round. More attempts than one has. */
const ROUND = 1_000

/** The column `attempt`, as attempts of this round and, whose number is told, of all. */
export const attemptsMade = (attempt: number) => {
  const inRound = attempt % ROUND
  return { inRound, n: Math.floor(attempt / ROUND) + inRound }
}

/** SQL: the column at the start of another round. */
export const NEXT_ROUND = `(gh_deliveries.attempt / ${ROUND} + gh_deliveries.attempt % ${ROUND})
  * ${ROUND}`

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

/** An attempt as it is shown. */
export const attemptRecord = (n: number, at: number, outcome: Outcome): AttemptRecord =>
  recordOf(JSON.parse(storedAttempt(n, at, outcome)))

function errorOf(outcome: Outcome): string | null {
  if (outcome.kind === 'failed') return `${outcome.reason}: ${outcome.message}`
  return isDelivered(outcome) ? null : `the receiver answered ${outcome.status}`
}

type Stored = [
  n: number,
  at: number,
  durationMs: number,
  error: string | null,
  status?: number,
  headers?: Readonly<Record<string, string>>,
  body?: string,
]

/**
 * An attempt as the column keeps it: a JSON array, without names. A row that grows has to move in
 * its table, so each character counts.
 */
export function storedAttempt(n: number, at: number, outcome: Outcome): string {
  const stored: Stored = [n, at, Math.round(outcome.durationMs), errorOf(outcome)]
  if (outcome.kind === 'answered') stored.push(outcome.status, outcome.headers, outcome.body)
  return JSON.stringify(stored)
}

/** The `attempts` column, as what it means: stored attempts with commas between them. */
export const attemptsOf = (stored: string | null): AttemptRecord[] =>
  stored === null ? [] : (JSON.parse(`[${stored}]`) as Stored[]).map(recordOf)

const recordOf = ([n, at, duration_ms, error, status, headers, body]: Stored): AttemptRecord => ({
  n,
  at: isoTime(at),
  status: status ?? null,
  duration_ms,
  error,
  response_headers: headers ?? null,
  response_body: body ?? null,
})
