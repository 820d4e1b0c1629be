/**
 * What the engine and its store say to each other. The engine knows no SQL, the store no sockets,
 * and the simulation in the tests puts others in their places.
 */
import type { Scope } from '../kernel/principal.ts'
import type { Outcome } from '../transport/attempt.ts'
import type { Rate } from './bucket.ts'
import type { StoredState } from './delivery.ts'
import type { Health } from './health.ts'

export interface LiveSecret {
  readonly value: string
  readonly expiresAt: number | null
}

/** A registration as the engine needs it. */
export interface Registration extends Health {
  readonly no: number
  readonly id: string
  readonly scope: Scope
  /** The customer's number: work is shared out by customers. */
  readonly customer: number
  readonly url: string
  /** False also when it is deleted, or its customer suspended: its deliveries wait. */
  readonly sends: boolean
  readonly revision: number
  /** Oldest first. */
  readonly secrets: readonly LiveSecret[]
  /** The customer's own; undefined: the installation's. */
  readonly rate: Rate | undefined
  readonly parkedUntil: number | null
  /** Whether its scopes cover a type (§9.14); undefined: they cover all. */
  readonly covers?: (type: string) => boolean
}

/** A delivery whose time has come. */
export interface Due {
  readonly no: number
  readonly id: string
  readonly eventId: string
  readonly eventType: string
  /** Attempts made before; see `attemptsMade`. */
  readonly attempt: number
  readonly createdAt: number
  /** The bytes to send, as text; undefined when the event is gone, or the body is large. */
  readonly body: string | undefined
  /** Bytes of a large body, which is read when it is sent. */
  readonly largeBytes?: number
}

/** Due with what is to be sent. */
export type Sendable = Due & { readonly body: string }

export const hasBody = (due: Due): due is Sendable => due.body !== undefined

/** The event is purged: nothing can be sent. */
export const isGone = (due: Due): boolean => due.body === undefined && due.largeBytes === undefined

export interface DueRows {
  readonly rows: readonly Due[]
  /** When the next one of this endpoint is due; undefined when none is known of. */
  readonly nextAt: number | undefined
}

/** An endpoint with pending deliveries, and when the first of them is due. */
export interface Ahead {
  readonly no: number
  readonly customer: number
  readonly dueAt: number
}

/** The one update a delivery gets from an attempt. */
export interface Settlement {
  readonly no: number
  readonly state: StoredState
  readonly attempt: number
  readonly nextAt: number | null
  /** JSON of the attempt; empty: there was none (§9.12, expiry). */
  readonly record: string
}

/** What is to be kept of an endpoint. */
export interface Note extends Health {
  readonly no: number
  /** Whose health it is: a registration sent elsewhere since is not touched. */
  readonly url: string
  readonly parkedUntil: number | null
}

export interface WorkStore {
  /** Endpoints that may send and have something pending. */
  scan(): Promise<Ahead[]>
  look(no: number): Promise<Registration | undefined>
  /** At most `limit` due at `now` and not in `known`, the oldest first. */
  due(no: number, now: number, known: ReadonlySet<number>, limit: number): Promise<DueRows>
  /** The body of a delivery with a large one; undefined when its event is gone. */
  largeBody(no: number): Promise<string | undefined>
  /** All of it in one transaction. What is not pending any more stays as it is. */
  settle(settlements: readonly Settlement[], notes: readonly Note[]): Promise<void>
  /**
   * Switches a registration off, with its event, unless it is off already (§9.7). `url`: only if
   * this is still its receiver.
   */
  disable(no: number, reason: DisabledReason, url?: string): Promise<void>
  /** Registrations whose health says that they are to be switched off now. */
  failing(now: number): Promise<number[]>
}

export type DisabledReason = 'gone' | 'failing' | 'creator_removed'

/** Whose work this node does; see `leases.ts`. */
export interface Leases {
  /** False: this node may be taken for dead, and starts nothing. */
  readonly alive: boolean
  holds(customer: number): boolean
  /** Takes those nobody has. */
  take(customers: readonly number[]): Promise<void>
}

/** One POST of a delivery, signed; always resolves, as `aborted` when we ended it ourselves. */
export type Post = (
  registration: Registration,
  due: Sendable,
  attempt: { readonly n: number; readonly now: number },
) => Promise<Outcome>
