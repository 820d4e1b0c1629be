/**
 * The portal (§12.2): links, sessions, and the endpoints of a customer's people. Webhooks,
 * deliveries and events are the public handlers, mounted under `/portal/api` (`route-table.ts`).
 */

import { type AdminDeps, adminHandlers } from '../../identity/access/admin-handlers.ts'
import type { Administration } from '../../identity/access/administration.ts'
import { Failure } from '../../kernel/failure.ts'
import { purgeExpired } from '../../platform/storage/purge.ts'
import { type Route, route } from '../../protocol/http/call.ts'
import { operation } from '../../protocol/http/operation.ts'
import { portalKeyRoutes } from './keys.ts'
import { createPortalLink, newPortalLink, portalLinkCreation, revokePortalLink } from './link.ts'
import { createPortalSessions, type PortalSessionDeps, type PortalSessions } from './session.ts'
import { portalLinks, portalSessions } from './tables.ts'

export interface Portal extends PortalSessions {
  readonly chores: Readonly<Record<string, () => Promise<number>>>
}

interface PortalDeps extends PortalSessionDeps, AdminDeps {
  /** Returns the base of absolute links, once the service listens. */
  readonly publicUrl: () => string
}

export function createPortal(deps: PortalDeps): Portal {
  const { admin } = deps
  const sessions = createPortalSessions(deps)
  return {
    ...sessions,
    routes: [...linkRoutes(deps), ...sessions.routes, ...portalKeyRoutes(admin, deps), unknownPath],
    chores: {
      portal: () => purgeExpired(admin.db, [portalLinks, portalSessions], admin.clock.now()),
    },
  }
}

/** Without it, an unknown path would be a page of the portal. */
const unknownPath = route('/portal/api/*', {
  GET: {
    handle() {
      throw new Failure('not_found')
    },
  },
})

export const linkOperations = (admin: Pick<Administration, 'scopes'>) => ({
  create: operation('POST /admin/portal-links', {
    id: 'create_portal_link',
    summary: 'Create a one-time link to the portal of a customer',
    input: portalLinkCreation(admin),
    headers: ['Idempotency-Key'],
    output: newPortalLink,
    status: 201,
    isSecret: true,
    errors: ['limit_reached'],
  }),
  revoke: operation('DELETE /admin/portal-links/:id', {
    id: 'revoke_portal_link',
    summary: 'Revoke a link to the portal and its session',
    headers: ['Idempotency-Key'],
  }),
})

function linkRoutes(deps: PortalDeps): Route[] {
  const { change } = adminHandlers(deps.admin, deps)
  const operations = linkOperations(deps.admin)
  return [
    change(operations.create, ({ admin, input, caller: { actor }, principal }) =>
      createPortalLink(admin, deps.publicUrl(), input, { actor, principal }),
    ),
    change(operations.revoke, ({ admin, params, caller }) =>
      revokePortalLink(admin, params.id!, caller.actor),
    ),
  ]
}
