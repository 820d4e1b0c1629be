/** The caller as own code has it. */
import type { Principal } from '../../kernel/principal.ts'

/**
 * The principal of a request or a job: customer, mode, kind, scopes. It lacks the number by which
 * the engine stores rows of its customer and mode; own code names a customer by its id.
 */
export interface OwnPrincipal extends Omit<Principal, 'scope' | 'caller'> {
  /** The caller that acts for a customer (`/admin/as`). */
  readonly caller?: OwnPrincipal
}

export function ownPrincipalOf({ scope: _scope, caller, ...principal }: Principal): OwnPrincipal {
  return caller ? { ...principal, caller: ownPrincipalOf(caller) } : principal
}
