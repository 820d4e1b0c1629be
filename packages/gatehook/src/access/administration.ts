/**
 * What the acts of this room need: made once in `app.ts`, used alike by HTTP, CLI and console. Pure
 * data; the acts are in `customers.ts` and `keys.ts`.
 */
import type { Actor, AuditContext } from '../audit/store.ts'
import type { RecordEvent } from '../events/store.ts'
import type { Mode, Principal } from '../kernel/principal.ts'
import type { Database } from '../storage/database.ts'

/** The customer every installation has. Its id is fixed, so two first starts cannot make two. */
export const DEFAULT_CUSTOMER = 'cus_default'

/** Implies every scope; only live keys of the default customer may carry it (§13). */
export const ADMIN_SCOPE = 'admin'

export interface Administration extends AuditContext {
  readonly db: Database
  /** The transaction of an act: one of its own, or the one the request's answer commits with. */
  readonly write: Database['write']
  /** Every scope a key can be given: those of resources and actions, and the engine's own. */
  readonly scopes: ReadonlySet<string>
  /** The API's versions, which a key can be pinned to: `v1`, `v2`. */
  readonly versions: readonly string[]
  /** Told after each committed change, so that this node's remembered verifications go at once. */
  readonly changed: () => void
  /** Tells receivers of what is done (`key.created`); nobody is told where there is none. */
  readonly record?: RecordEvent
}

/** Who asks, and whose customer is meant where none is named. */
export interface Caller {
  readonly actor: Actor
  readonly customer: string
}

/** The rows a principal reaches: its customer's in its mode, or, with `admin`, all. */
export type Reach = 'all' | { readonly customer: string; readonly mode: Mode }

export const reachOf = ({ scopes, customer, mode }: Principal): Reach =>
  scopes.has(ADMIN_SCOPE) ? 'all' : { customer, mode }

export const isInReach = (
  reach: Reach,
  row: { readonly customer: string; readonly mode: string },
): boolean => reach === 'all' || (row.customer === reach.customer && row.mode === reach.mode)

/** The word `default` stands for the default customer wherever one is named. */
export const customerId = (name: string): string => (name === 'default' ? DEFAULT_CUSTOMER : name)
