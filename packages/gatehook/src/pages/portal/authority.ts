/**
 * The scopes of a session of the portal. A link grants scopes; a person has those of its
 * credential. A person who sees only own rows reaches neither keys nor webhooks: both serve all
 * rows of the customer (§6.7). No session holds a scope of the installation. Pure.
 */
import { isInstallationScope } from '../../identity/access/administration.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'

/** Scopes whose things serve every row of a customer. */
const CUSTOMER_WIDE = /^(keys|webhooks):/

/** Returns the scopes of a person's session. */
export const personScopes = (scopes: Iterable<string>, seesAllRows: boolean): Set<string> =>
  new Set(
    [...scopes].filter(
      (scope) => !isInstallationScope(scope) && (seesAllRows || !CUSTOMER_WIDE.test(scope)),
    ),
  )

type SectionAccess = 'write' | 'read' | 'hidden'

/** Returns the access of a session to each part of the portal. */
export function sectionsOf({ scopes }: Pick<Principal, 'scopes'>) {
  const accessTo = (section: string): SectionAccess => {
    if (!scopes.has(`${section}:read`)) return 'hidden'
    return scopes.has(`${section}:write`) ? 'write' : 'read'
  }
  return { keys: accessTo('keys'), webhooks: accessTo('webhooks'), events: accessTo('events') }
}

/** Returns the scopes that a key created in a session can carry: none without `keys:write`. */
export const keyScopesOf = ({ scopes }: Pick<Principal, 'scopes'>): readonly string[] =>
  scopes.has('keys:write') ? [...scopes] : []

/** Throws 403 for a person who sees only own rows: the request shows things of all. */
export function requireAllRows({ inPortal }: Principal): void {
  if (inPortal === 'all') return
  throw new Failure('forbidden', 'You see only your own data, so this part is not available.')
}
