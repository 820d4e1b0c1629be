/** The caller as own code has it. */
import { modeOf, type Principal, type Scope } from '../../kernel/principal.ts'

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

/** Returns the caller of actions that create sample rows, in the customer `default`. */
export const seedPrincipal = (scope: number): Principal => ({
  customer: 'default',
  mode: modeOf(scope as Scope),
  scope: scope as Scope,
  kind: 'cli',
  subject: 'seed',
  scopes: new Set(),
})
