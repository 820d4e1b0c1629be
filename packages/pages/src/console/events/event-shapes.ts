/** The JSON of events and deliveries in `/admin`, and their words. */

/** A row of `GET /admin/events`. */
export interface EventRow {
  readonly id: string
  readonly type: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly customer: string
  readonly customer_name: string
  readonly mode: 'live' | 'test'
  readonly object: string | null
  readonly request_id: string | null
  readonly deliveries: DeliveryCounts
}

interface DeliveryCounts {
  readonly total: number
  readonly delivered: number
  readonly pending: number
  readonly failed: number
  readonly paused: number
}

type DeliveryState = 'pending' | 'delivered' | 'failed' | 'exhausted' | 'paused'

export interface AttemptRow {
  readonly n: number
  readonly at: string
  readonly status: number | null
  readonly duration_ms: number
  readonly error: string | null
  readonly response_headers: Readonly<Record<string, string>> | null
  readonly response_body: string | null
  /** `GET /admin/deliveries/{id}` has them. */
  readonly request_url?: string
  readonly request_headers?: Readonly<Record<string, string>> | null
}

export interface DeliveryRow {
  readonly id: string
  readonly event_id: string
  readonly event_type: string
  readonly webhook_id: string
  readonly state: DeliveryState
  readonly next_attempt_at: string | null
  readonly created_at: string
  readonly attempts: readonly AttemptRow[]
}

export interface EventDelivery extends DeliveryRow {
  readonly url: string
  readonly api_version: string | null
  readonly next_reason: 'schedule' | 'retry_after' | 'breaker' | 'hold' | 'paused' | null
}

/** `GET /admin/events/{id}?expand=deliveries`. */
export interface EventDetail extends Omit<EventRow, 'deliveries'> {
  /** Null: purged. */
  readonly data: unknown
  readonly deliveries: DeliveryCounts & {
    readonly data: readonly EventDelivery[]
    readonly named_by: readonly NamingEndpoint[]
  }
}

/** An endpoint whose registration names the type of an event. */
interface NamingEndpoint {
  readonly webhook_id: string
  readonly url: string
  /** The scope without which the endpoint does not receive the type. */
  readonly lacks: string | null
}

/** `refused: the connection was refused`: the word before the colon. */
export const reasonOf = (error: string | null): string =>
  (error?.split(':')[0] ?? 'no response').replaceAll('_', ' ')

/** Returns a sentence for an attempt without a usable response. */
export function attemptSentence({ error, status }: AttemptRow): string | undefined {
  if (error?.includes('signature_mismatch')) {
    return 'The receiver verifies with another secret than that of the endpoint.'
  }
  const [, advice] = /; [a-z_]+: (.+)$/.exec(error ?? '') ?? []
  if (advice !== undefined) return `The receiver rejected the delivery: ${advice}.`
  if (status !== null) {
    return status >= 300 && status < 400 ? 'Deliveries follow no redirect.' : undefined
  }
  const words = error?.slice(error.indexOf(':') + 1).trim()
  return words && `${words[0]!.toUpperCase()}${words.slice(1)}.`
}

const REASONS: Readonly<Record<NonNullable<EventDelivery['next_reason']>, string>> = {
  schedule: 'The time follows from the retry schedule.',
  retry_after: 'The receiver requested the delay with Retry-After.',
  breaker: 'The circuit breaker of the endpoint is open.',
  hold: 'The endpoint is on hold after 429 or 503.',
  paused: 'The endpoint is disabled. The delivery waits until it is enabled.',
}

export const nextReason = ({ next_reason: reason }: EventDelivery): string | undefined =>
  reason === null ? undefined : REASONS[reason]

/** Seconds since the epoch as ISO 8601. */
export const isoOfSeconds = (seconds: number): string => new Date(seconds * 1000).toISOString()

/** The URL of an endpoint without its scheme: two of one host differ. */
export const addressOf = (url: string): string => url.replace(/^https?:\/\//, '')

/** The host of an endpoint's URL. */
export const hostOf = (url: string): string => {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
