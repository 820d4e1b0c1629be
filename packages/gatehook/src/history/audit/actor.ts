/** The actor of an audit row. Declarations name it, so it needs no types of Node. */
import type { Principal } from '../../kernel/principal.ts'

/** The principal of an audit row: a credential's, an operator, the command line or the engine. */
export interface AuditPrincipal {
  readonly kind: Principal['kind'] | 'system' | 'anonymous'
  /** `Principal.subject`; the account name for `cli`, the part of the engine for `system`. */
  readonly id: string
  /** The name of the key, client, person or operator at that time. */
  readonly name?: string | undefined
  /** Customer and mode of the principal. */
  readonly scope?: number | undefined
}

/** A principal, and the request it came with; the last two are absent outside of HTTP. */
export interface Actor extends AuditPrincipal {
  /** The client's address. */
  readonly address?: string | undefined
  /** `X-Request-Id`. */
  readonly requestId?: string | undefined
}
