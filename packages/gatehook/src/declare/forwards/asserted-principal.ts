/**
 * The caller that the assertion of a forwarded request names (§17.5). An operator who acts for a
 * customer is asserted with the scopes of its role: an upstream decides by them. Pure.
 */
import { isInstallationScope } from '../../identity/access/administration.ts'
import { isAdministrator } from '../../identity/access/scopes.ts'
import type { Principal } from '../../kernel/principal.ts'
import { listReadingScopes } from '../resources/scopes.ts'
import type { ServiceDefinition } from '../resources/service.ts'

/** Returns the function that limits the scopes of an acting operator to those that it can use. */
export function createAssertedPrincipal(
  service: Pick<ServiceDefinition, 'resources' | 'routes'>,
): (principal: Principal) => Principal {
  const readingScopes = listReadingScopes(service)
  return (principal) => {
    if (!principal.caller) return principal
    const canUse = isAdministrator(principal)
      ? (scope: string) => !isInstallationScope(scope)
      : (scope: string) => readingScopes.has(scope)
    return { ...principal, scopes: new Set([...principal.scopes].filter(canUse)) }
  }
}
