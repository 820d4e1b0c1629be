/**
 * Scopes (§3.6): the account scopes with the sentences of the consent page, and the check of one
 * scope. Resource scopes follow from a service's declaration. Pure.
 */
import { Failure } from '../../kernel/failure.ts'
import { hasRole, type Principal, type Role } from '../../kernel/principal.ts'
import { isIdentityScope } from '../tokens/identity-scopes.ts'
import {
  ADMIN_SCOPE,
  AUDIT_SCOPE,
  isInstallationScope,
  METRICS_SCOPE,
  VERIFY_ALL_SCOPE,
  VERIFY_SCOPE,
} from './administration.ts'

/**
 * Maps each account scope to its sentence on the consent page. Account scopes cover all data of a
 * customer. A person holds one only if an operator granted it; a client, only if it was registered
 * with it.
 */
export const accountScopes: Readonly<Record<string, (customer: string) => string>> = {
  'webhooks:read': (customer) => `See the webhooks of ${customer} and their deliveries`,
  'webhooks:write': (customer) => `Create, change and delete the webhooks of ${customer}`,
  'events:read': (customer) => `See the events of ${customer}`,
  'events:write': (customer) => `Record events in the name of ${customer}`,
  'keys:read': (customer) => `See the access keys of ${customer}, without their secrets`,
  'keys:write': (customer) => `Narrow and revoke the access keys of ${customer}`,
  [VERIFY_SCOPE]: (customer) => `Verify access keys and tokens of ${customer}`,
  'clients:write': (customer) => `Register applications of ${customer}`,
  'tokens:introspect': (customer) => `See the permissions of every access token of ${customer}`,
  [METRICS_SCOPE]: (customer) =>
    `See the metrics of this whole installation for ${customer}, without data of customers`,
  [AUDIT_SCOPE]: (customer) =>
    `See the audit trail of this whole installation for ${customer}: operations of every customer`,
  [VERIFY_ALL_SCOPE]: (customer) =>
    `Verify access keys and tokens of this whole installation for ${customer}`,
  [ADMIN_SCOPE]: (customer) =>
    `Administer this whole installation for ${customer}: everything of every customer`,
}

export const isAccountScope = (scope: string): boolean => Object.hasOwn(accountScopes, scope)

export const SCOPE_NAME: RegExp = /^[a-z][a-z0-9_-]*(:[a-z][a-z0-9_-]*)?$/

/** Characters of a declared scope. Keys and tokens have many. */
export const SCOPE_NAME_MAX = 100

/** Returns whether a service may declare a scope of this name. */
export const isScopeName = (text: string): boolean =>
  text.length <= SCOPE_NAME_MAX && SCOPE_NAME.test(text) && !isIdentityScope(text)

/**
 * Returns whether a principal holds `scope`; `admin` implies every scope (§13), and
 * `keys:verify_all` implies `keys:verify`.
 */
export const holdsScope = ({ scopes }: Pick<Principal, 'scopes'>, scope: string): boolean =>
  scopes.has(scope) ||
  scopes.has(ADMIN_SCOPE) ||
  (scope === VERIFY_SCOPE && scopes.has(VERIFY_ALL_SCOPE))

/**
 * Returns whether a principal administers the installation (§13): it holds `admin`, and is no
 * operator of a lesser role. `/admin/as` has the rights of the caller that acts.
 */
export function isAdministrator(principal: Principal): boolean {
  const caller = principal.caller ?? principal
  return caller.scopes.has(ADMIN_SCOPE) && hasRole(caller, 'administrator')
}

/** Returns the 403 `insufficient_role` that names the role. */
export const missingRole = (role: Role): Failure =>
  new Failure('insufficient_role', `This needs an operator with the role ${role}.`)

/**
 * Throws 403 `insufficient_role` if an operator creates or changes a key with a scope of the
 * installation and is no administrator.
 */
export function requireAdministratorFor(
  scopes: readonly string[],
  { role }: { readonly role?: Role | undefined },
): void {
  if (role === undefined || hasRole({ role }, 'administrator')) return
  if (scopes.some(isInstallationScope)) throw missingRole('administrator')
}

/** Returns the 403 `insufficient_scope` that names the scope. */
export const missingScope = (scope: string): Failure =>
  new Failure('insufficient_scope', `The credential lacks the scope ${scope}.`, { scope })
