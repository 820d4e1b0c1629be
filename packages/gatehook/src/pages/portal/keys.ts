/**
 * `/portal/api/keys` (§12.2): the keys of the session's customer and mode. A key that is created or
 * rolled here carries only scopes of the session. Keys with `admin` belong to the operators of the
 * installation: the portal does not list them.
 */
import {
  type AdminDeps,
  adminHandlers,
  withCustomerIds,
} from '../../identity/access/admin-handlers.ts'
import { type Administration, isInstallationScope } from '../../identity/access/administration.ts'
import { currentKeys } from '../../identity/access/key-members.ts'
import { createKey, revokeKey, rollKey } from '../../identity/access/keys.ts'
import { addedOverlap } from '../../identity/access/listed-keys.ts'
import { missingScope } from '../../identity/access/scopes.ts'
import { type KeyRow, WITHOUT_INSTALLATION_SCOPES } from '../../identity/access/store.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement } from '../../protocol/http/operation.ts'
import { createList } from '../../protocol/lists/definition.ts'
import { keyScopesOf } from './authority.ts'
import { portalKey, portalKeyOperations } from './operations.ts'

const ownKeys = createList({
  ...currentKeys,
  row: portalKey,
  path: '/portal/api/keys',
  name: 'portal_keys',
  scoped: true,
  indexes: [['id']],
  filter: ['id', 'name', 'expires_at', 'created_at', 'last_used_at'],
  added: ['overlap_ends_at'],
  where: `${currentKeys.where} AND ${WITHOUT_INSTALLATION_SCOPES}`,
})

/** Throws 403 for the first scope that the session does not grant. */
function requireGrantedScopes(principal: Principal, scopes: readonly unknown[]): void {
  const granted = keyScopesOf(principal)
  const missing = scopes.find((scope) => !granted.includes(String(scope)))
  if (missing !== undefined) throw missingScope(String(missing))
}

const scopesOf = (row: KeyRow): readonly string[] => JSON.parse(row.scopes) as string[]

/** Throws 404 for a key of another customer or mode, or of the operators. */
function requireOwnKey(principal: Principal, row: KeyRow): void {
  if (row.scope !== principal.scope || scopesOf(row).some(isInstallationScope)) {
    throw new Failure('not_found')
  }
}

export function portalKeyRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { change } = adminHandlers(admin, deps)
  const operations = portalKeyOperations(admin)
  return [
    implement(operations.list, async (call) =>
      deps.list(await withCustomerIds(admin.db, call), ownKeys.collection, ownKeys.view, {
        added: [addedOverlap(admin.clock)],
      }),
    ),
    change(operations.create, ({ admin, input, principal, caller }) => {
      requireGrantedScopes(principal, input.scopes)
      const { customer, mode } = principal
      return createKey(admin, { ...input, customer, mode }, caller)
    }),
    change(operations.revoke, ({ admin, params, principal, caller: { actor } }) =>
      revokeKey(admin, params.id!, { actor, check: (row) => requireOwnKey(principal, row) }),
    ),
    change(operations.roll, ({ admin, params, input, principal, caller: { actor } }) =>
      rollKey(admin, params.id!, input, {
        actor,
        check(row) {
          requireOwnKey(principal, row)
          // The new secret carries every scope of the key.
          requireGrantedScopes(principal, scopesOf(row))
        },
      }),
    ),
  ]
}
