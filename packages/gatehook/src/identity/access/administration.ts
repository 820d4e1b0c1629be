/**
 * The dependencies that administrative operations share, created once in `app.ts` and used alike by
 * HTTP, command line and console. Pure data; the operations are in `customers.ts` and `keys.ts`.
 */
import type { Actor } from '../../history/audit/actor.ts'
import type { AuditContext } from '../../history/audit/store.ts'
import type { RecordEvent } from '../../history/events/store.ts'
import type { Role, StoredPrincipal } from '../../kernel/principal.ts'
import type { Database, Tx } from '../../platform/storage/database.ts'
import type { EndGivenAccess } from './given-access.ts'

/** The ids of customers begin with it, and their external ids do not. */
export const CUSTOMER_PREFIX = 'cus_'

/** The customer of every installation. The fixed id keeps two first starts from creating two. */
export const DEFAULT_CUSTOMER = 'cus_default'

/** Implies every scope (§13). */
export const ADMIN_SCOPE = 'admin'

/** Reads the metrics of a node; a part of `admin` for machines (§18.9). */
export const METRICS_SCOPE = 'metrics:read'

/** Reads the audit trail; a part of `admin` for machines (§18.9). */
export const AUDIT_SCOPE = 'audit:read'

/** Verifies credentials of the caller's customer and mode (§17.3). */
export const VERIFY_SCOPE = 'keys:verify'

/** Verifies credentials of every customer, and has no other right (§17.3). */
export const VERIFY_ALL_SCOPE = 'keys:verify_all'

/**
 * Scopes that act on the whole installation. Only live credentials of the default customer carry
 * them, and only administrators grant them (§13, §17.3, §18.9).
 */
export const INSTALLATION_SCOPES: readonly string[] = [
  ADMIN_SCOPE,
  METRICS_SCOPE,
  AUDIT_SCOPE,
  VERIFY_ALL_SCOPE,
]

export const isInstallationScope = (scope: string): boolean => INSTALLATION_SCOPES.includes(scope)

/** Lists the permissions of scopes that write: `create`, `change` and `delete`, or some of them. */
export type ScopeChanges = ReadonlyMap<string, readonly string[]>

export interface Administration extends AuditContext {
  readonly db: Database
  /** Runs an operation in a transaction: its own, or the one that stores the response. */
  readonly write: Database['write']
  /** All scopes that a key can hold: those of resources and actions, and the engine's own. */
  readonly scopes: ReadonlySet<string>
  /** The permissions of the scopes that write. */
  readonly changes: ScopeChanges
  /** The API versions to which a key can be pinned: `v1`, `v2`. */
  readonly versions: readonly string[]
  /** Evicts this node's cached verifications; called after the commit of each change. */
  readonly onChange: () => void
  /** Records events such as `key.created`; absent if there are no webhooks. */
  readonly record?: RecordEvent
  /** Wakes the deliveries of a customer, by number, when its suspension begins or ends. */
  readonly wakeDeliveriesOf?: (tx: Tx, customerNo: number) => Promise<void>
  /** Ends the links to the console and the portal of a maker, and the sessions of these. */
  readonly endGivenAccess?: EndGivenAccess
}

/** The actor of an administrative request, and the customer that applies if it names none. */
export interface AdminCaller {
  readonly actor: Actor
  readonly customer: string
  /** The role of an operator; undefined for other callers. */
  readonly role?: Role | undefined
  /** The maker of its later effects; undefined: its rights do not end. */
  readonly maker?: StoredPrincipal | undefined
}
