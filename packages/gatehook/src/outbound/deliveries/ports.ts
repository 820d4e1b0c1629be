/**
 * The interfaces between the engine and the parts that it drives: the store, the leases, the POST.
 * Tests replace each of them. Types only, and the predicates of a due delivery.
 */
import type { Scope } from '../../kernel/principal.ts'
import type { Outcome } from '../transport/attempt.ts'
import type { StoredState } from './delivery.ts'
import type { DeliveryRate } from './delivery-rate.ts'
import type { EndpointHealth } from './endpoint-health.ts'
import type { HealthState, StoredSummary } from './outcome-summary.ts'

export interface LiveSecret {
  readonly value: string
  readonly expiresAt: number | null
}

/** A registration as the engine needs it. */
export interface EngineRegistration extends EndpointHealth {
  readonly no: number
  readonly id: string
  readonly scope: Scope
  /** The customer's number: nodes share the work by customer. */
  readonly customer: number
  /** `cus_…`. */
  readonly customerId: string
  readonly url: string
  /** False while it is inactive or deleted, or its customer is suspended. */
  readonly sends: boolean
  readonly revision: number
  /** Oldest first. */
  readonly secrets: readonly LiveSecret[]
  /** The customer's own rate; undefined: the rate of the installation applies. */
  readonly rate: DeliveryRate | undefined
  readonly holdUntil: number | null
  /** Whether its scopes cover a type (§9.14); undefined: they cover every type. */
  readonly covers?: (type: string) => boolean
  /** Whether its new deliveries wait in their events (decision 0083). */
  readonly hasBacklog?: boolean
}

/** A pending delivery whose `next_attempt_at` has passed. */
export interface DueDelivery {
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  /** The column `attempt`, before this attempt; see `attemptCounts`. */
  readonly attempt: number
  readonly createdAt: number
  /** The text to send; undefined when the event was purged, or the body is large. */
  readonly body: string | undefined
  /** Bytes of a body that the engine reads when it sends: large, or of a withdrawn version. */
  readonly largeBytes?: number
  /** The `traceparent` of the event, if it was recorded in a trace. */
  readonly trace?: string | undefined
}

export type LoadedDelivery = DueDelivery & { readonly body: string }

export const hasBody = (due: DueDelivery): due is LoadedDelivery => due.body !== undefined

/** Whether the event was purged, so that there is no body to send. */
export const isEventPurged = (due: DueDelivery): boolean =>
  due.body === undefined && due.largeBytes === undefined

export interface DueBatch {
  readonly rows: readonly DueDelivery[]
  /** When the next delivery of this endpoint is due; undefined when the store found none. */
  readonly nextDueAt: number | undefined
}

export interface EndpointKey {
  /** The number of the registration. */
  readonly no: number
  readonly scope: Scope
}

/** An endpoint that may send and has a pending delivery. */
export interface PendingEndpoint extends EndpointKey {
  /** When the first of its deliveries that were read is due. */
  readonly dueAt: number
  /** Whether deliveries wait in their events. */
  readonly hasBacklog?: boolean
}

/** Endpoints whose deliveries became due in a span of time. */
export interface DuePage {
  readonly endpoints: readonly PendingEndpoint[]
  /** The end of the span that was read completely. */
  readonly readUntil: number
  /** False if the span has so many deliveries that further ones are unread. */
  readonly isComplete: boolean
  /** When the first delivery after the span is due; undefined: none waits. */
  readonly nextDueAt: number | undefined
}

/** Endpoints with pending deliveries, in the order of their numbers. */
export interface EndpointSlice {
  readonly endpoints: readonly PendingEndpoint[]
  /** The number after which the next slice begins; undefined: this is the last one. */
  readonly next: number | undefined
}

/** The one update that a delivery gets from an attempt. */
export interface DeliveryResult {
  readonly scope: Scope
  readonly id: string
  readonly state: StoredState
  readonly attempt: number
  readonly nextAt: number | null
  /** JSON of the attempt; empty when the delivery ended without one (§9.12). */
  readonly record: string
}

export interface HealthUpdate extends EndpointHealth, EndpointKey {
  /** The receiver that it describes: the update skips a registration that changed its URL. */
  readonly url: string
  readonly holdUntil: number | null
}

/** The summary of an endpoint's attempts, to be stored. */
export interface SummaryUpdate extends StoredSummary, EndpointKey {
  /** Undefined if the stored one is the same. */
  readonly health: HealthState | undefined
  readonly breaker: string
  /** When an open breaker admits the next probe. */
  readonly breakerUntil: number | null
  readonly inFlight: number
  /** The greatest id of a delivery with an attempt. */
  readonly newestId: string
  readonly updatedAt: number
}

export type DisabledReason = 'gone' | 'failing' | 'creator_removed'

/** When deliveries are due: until now, and from an instant before which none is expected. */
export interface DueSpan {
  readonly from: number
  readonly now: number
}

export interface EngineStore {
  /** Reads which endpoints have deliveries that became due after `after`, until `until`. */
  readDuePage(after: number, until: number): Promise<DuePage>
  /** Reads at most `limit` endpoints with pending deliveries, due or not. */
  readEndpointSlice(after: number, limit: number): Promise<EndpointSlice>
  /**
   * Undefined when it does not exist, or a signing secret cannot be decrypted. With its scope, it
   * is found on one server of a distributed database.
   */
  readRegistration(no: number, scope?: Scope): Promise<EngineRegistration | undefined>
  /** At most `limit` deliveries due in a span, oldest first, without those in `loadedIds`. */
  readDueDeliveries(
    endpoint: EndpointKey,
    span: DueSpan,
    loadedIds: ReadonlySet<string>,
    limit: number,
  ): Promise<DueBatch>
  /** Those of the deliveries that are due at `now`. */
  readResentDeliveries(scope: Scope, now: number, ids: readonly string[]): Promise<DueDelivery[]>
  /** The stored summary of an endpoint; undefined before its first attempt. */
  readSummary(endpoint: EndpointKey): Promise<StoredSummary | undefined>
  /** The body of a delivery that has a large body; undefined when its event was purged. */
  readLargeBody(scope: Scope, id: string): Promise<string | undefined>
  /** Writes everything in one transaction. Skips deliveries that are no longer pending. */
  writeResults(
    results: readonly DeliveryResult[],
    health: readonly HealthUpdate[],
    summaries: readonly SummaryUpdate[],
  ): Promise<void>
  /**
   * Disables an active registration and records its event (§9.7). With `url`, it does so only if
   * the registration still has this URL.
   */
  disableRegistration(no: number, reason: DisabledReason, url?: string): Promise<void>
  /**
   * Lets the new deliveries of endpoints that are behind wait in their events. Examines those after
   * a number; returns the one to continue after, 0 at the end.
   */
  beginBacklogs(now: number, afterNo: number): Promise<number>
  /** Gives the first deliveries that wait in their events rows. */
  fillBacklog(
    endpoint: EndpointKey,
  ): Promise<{ readonly count: number; readonly dueAt: number; readonly isLast: boolean }>
  /** New deliveries of the endpoint get rows. */
  endBacklog(endpoint: EndpointKey): Promise<void>
  /** Reads at most `limit` endpoints with deliveries that wait in their events. */
  readAwaitedSlice(after: number, limit: number): Promise<EndpointSlice>
  /** Registrations whose health requires that they are disabled now. */
  listFailing(now: number): Promise<number[]>
}

/** The customers whose deliveries this node sends; see `leases.ts`. */
export interface Leases {
  /** False when other nodes may have taken over: this node starts no attempt. */
  readonly isAlive: boolean
  /** Changes when other nodes may have left customers with due deliveries to this one. */
  readonly generation: number
  /** Whether this node sends the deliveries of a customer. */
  holds(customer: number): boolean
  /** Takes those of the customers that no node holds. */
  take(customers: readonly number[]): Promise<void>
}

/** The attempts of this node by customer, for whose end a handover waits. */
export interface NodeWork {
  /** Returns the number of attempts whose results are not written. */
  countUnfinished(customer: number): number
  /**
   * Expedites the unwritten data of a customer. Returns whether all is written and no attempt runs.
   */
  finish(customer: number): boolean
}

export interface NodeLeases extends Leases {
  /** Whether customers wait for the end of their attempts, to move to another node. */
  readonly hasHandovers: boolean
  /**
   * Increments this node's counter, removes failed nodes and begins to hand over customers beyond
   * this node's share to nodes with fewer. To be called regularly, and after an announcement of
   * another node; one call at a time.
   */
  heartbeat(work: NodeWork): Promise<void>
  /** Moves the customers that have finished. To be called while `hasHandovers`. */
  finishHandovers(work: NodeWork): Promise<void>
  /** Releases all customers. */
  release(): Promise<void>
}

/** POSTs a delivery once, signed. Always resolves; `aborted` when this process ended the POST. */
export type PostDelivery = (
  registration: EngineRegistration,
  due: LoadedDelivery,
  attempt: {
    readonly n: number
    readonly now: number
    /** Further headers, which are not signed. */
    readonly headers?: Readonly<Record<string, string>>
  },
) => Promise<Outcome>
