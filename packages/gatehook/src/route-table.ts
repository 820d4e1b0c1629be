/**
 * The one list of the engine's routes: methods, path, kind, the callers that each accepts, the
 * scope they need, and the role of an operator (§3.6, §4.5, §12.2, §13). Modules implement the
 * handlers; the router and the pipeline, the page on permissions and the test that sends every
 * route as every kind of caller follow from this table. Declared resources and routes have no row:
 * their declaration names the scopes (§6.1).
 */

import type { CallerKind, Role } from './kernel/principal.ts'
import type { Endpoint, Kind, Method, Route } from './protocol/http/call.ts'
import { type Mount, mountEndpoints } from './protocol/http/mount.ts'
import { withoutUnknownParameters } from './protocol/http/query-members.ts'
import { withoutDryRun } from './protocol/idempotency/dry-run.ts'

/** The callers that each value of the column names. */
export const CALLERS = {
  /** No credential is required; the handler reads none. */
  anyone: { kinds: undefined, means: 'everyone; no credential is required' },
  /** The handler authenticates the request itself. */
  proof: {
    kinds: undefined,
    means: 'the holder of the token, code, password or client secret that the request carries',
  },
  signedIn: {
    kinds: undefined,
    means: 'the holder of an access token of a person with the scope `openid`',
  },
  visitor: {
    kinds: undefined,
    means: 'everyone; the response is the same for every e-mail address, and a mail follows',
  },
  loopback: {
    kinds: undefined,
    means: 'loopback without a credential; from elsewhere a credential with the scope',
  },
  credential: {
    kinds: ['key', 'client', 'workload', 'person', 'application', 'cli'],
    means: 'every valid credential: key, client, workload, person, third-party application',
  },
  account: {
    kinds: ['person'],
    means: 'a person in a first-party session (login, Basic, or a client with `first_party: true`)',
  },
  administration: {
    kinds: ['key', 'client', 'workload', 'person', 'application', 'operator', 'cli'],
    means: 'a credential with the scope, or an operator signed in to the console',
  },
  console: { kinds: ['operator'], means: 'an operator signed in to the console' },
  portal: { kinds: ['portal'], means: 'a session of the portal: of a one-time link or a person' },
} as const satisfies Record<
  string,
  { readonly kinds: readonly CallerKind[] | undefined; readonly means: string }
>

/** The permissions that each role of an operator adds to those of the role before it. */
export const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  viewer: 'reads everything, and changes nothing',
  support: 'changes keys without the scopes of operators, webhooks and deliveries',
  administrator: 'changes everything',
}

type Callers = keyof typeof CALLERS

export interface Permission {
  readonly method: Exclude<Method, 'HEAD' | 'OPTIONS'>
  /** The route template, without a version: `/webhooks/:id`. */
  readonly path: string
  readonly callers: Callers
  readonly scope: string | undefined
  /** The least role of an operator; undefined for callers that are no operators. */
  readonly role: Role | undefined
}

/**
 * `HEAD` follows `GET`; `OPTIONS` requires no credential on any path. The listener for private
 * networks serves the methods with a `*`, and no others (§17.3). `role`: the role that an
 * operator needs for a change, by default administrator; reads need viewer unless the row names an
 * administrator.
 */
type RouteRow = readonly [
  methods: string,
  path: string,
  Endpoint['kind'],
  Callers,
  scope?: string,
  role?: Role,
]
const rows: readonly RouteRow[] = [
  ['GET', '/', 'public', 'anyone'],
  ['GET*', '/healthz', 'probe', 'anyone'],
  ['GET*', '/readyz', 'probe', 'anyone'],
  ['GET*', '/metrics', 'root', 'loopback', 'metrics:read'],
  ['GET', '/openapi/:document', 'public', 'anyone'],
  ['GET', '/console', 'page', 'anyone'],
  ['GET', '/console/*', 'page', 'anyone'],
  ['GET', '/portal', 'page', 'anyone'],
  ['GET', '/portal/*', 'page', 'anyone'],
  ['GET', '/portal/logo', 'page', 'anyone'],
  ['GET', '/assets/*', 'page', 'anyone'],
  ['GET', '/docs', 'public', 'anyone'],
  ['GET', '/docs/assets/:name', 'public', 'anyone'],
  ['GET', '/docs/:version', 'public', 'anyone'],
  ['GET', '/docs/:version/:page', 'public', 'anyone'],
  ['GET', '/llms.txt', 'public', 'anyone'],
  ['GET', '/.well-known/api-catalog', 'public', 'anyone'],
  ['GET*', '/.well-known/jwks.json', 'public', 'anyone'],
  ['GET*', '/.well-known/assertion-jwks.json', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-authorization-server', 'public', 'anyone'],
  ['GET', '/.well-known/openid-configuration', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-protected-resource', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-protected-resource/api', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-protected-resource/mcp', 'public', 'anyone'],

  ['POST', '/auth/login', 'root', 'proof'],
  ['POST', '/auth/login/passkey', 'root', 'proof'],
  ['POST', '/auth/login/passkey/options', 'root', 'proof'],
  ['POST', '/auth/passkeys/options', 'root', 'account'],
  ['GET POST', '/auth/passkeys', 'root', 'account'],
  ['DELETE', '/auth/passkeys/:id', 'root', 'account'],
  ['POST', '/auth/refresh', 'root', 'proof'],
  ['POST', '/auth/logout', 'root', 'proof'],
  ['POST', '/auth/logout-all', 'root', 'account'],
  ['POST', '/auth/password', 'root', 'account'],
  ['POST', '/auth/password/forgot', 'root', 'visitor'],
  ['POST', '/auth/password/reset', 'root', 'proof'],
  ['POST', '/auth/username', 'root', 'account'],
  ['POST', '/auth/username/confirm', 'root', 'proof'],
  ['POST', '/auth/signup', 'root', 'visitor'],
  ['POST', '/auth/email/verify', 'root', 'proof'],
  ['POST', '/auth/email/resend', 'root', 'visitor'],
  ['GET', '/auth/sessions', 'root', 'account'],
  ['GET DELETE', '/auth/sessions/:id', 'root', 'account'],
  ['GET', '/auth/consents', 'root', 'account'],
  ['DELETE', '/auth/consents/:client_id', 'root', 'account'],
  ['GET', '/oauth/authorize', 'page', 'anyone'],
  ['POST', '/oauth/authorize', 'page', 'proof'],
  ['POST', '/oauth/sign-in', 'page', 'proof'],
  ['POST', '/oauth/consent', 'page', 'proof'],
  ['GET', '/oauth/device', 'page', 'anyone'],
  ['POST', '/oauth/device', 'page', 'proof'],
  ['POST', '/oauth/device_authorization', 'oauth', 'proof'],
  ['POST', '/oauth/token', 'oauth', 'proof'],
  ['POST', '/oauth/register', 'oauth', 'proof'],
  ['POST', '/oauth/revoke', 'oauth', 'proof'],
  ['POST*', '/oauth/introspect', 'oauth', 'proof'],
  ['GET POST', '/oauth/userinfo', 'oauth', 'signedIn'],
  ['GET', '/api/protected', 'api', 'credential'],
  ['POST', '/mcp', 'mcp', 'credential'],
  ['POST*', '/keys/verify', 'root', 'credential', 'keys:verify'],
  ['GET', '/events', 'root', 'credential', 'events:read'],
  ['POST*', '/events', 'root', 'credential', 'events:write'],
  ['GET', '/events/stream', 'root', 'credential', 'events:read'],
  ['GET', '/events/:id', 'root', 'credential', 'events:read'],
  ['GET', '/webhooks', 'root', 'credential', 'webhooks:read'],
  ['POST', '/webhooks', 'root', 'credential', 'webhooks:write'],
  ['GET', '/webhooks/:id', 'root', 'credential', 'webhooks:read'],
  ['PATCH DELETE', '/webhooks/:id', 'root', 'credential', 'webhooks:write'],
  ['POST', '/webhooks/:id/test', 'root', 'credential', 'webhooks:write'],
  ['POST', '/webhooks/:id/rotate-secret', 'root', 'credential', 'webhooks:write'],
  ['GET', '/webhooks/:id/deliveries', 'root', 'credential', 'webhooks:read'],
  ['POST', '/webhooks/:id/recover', 'root', 'credential', 'webhooks:write'],
  ['POST DELETE', '/webhooks/:id/replay', 'root', 'credential', 'webhooks:write'],
  ['GET', '/deliveries/:id', 'root', 'credential', 'webhooks:read'],
  ['GET', '/deliveries/:id/request', 'root', 'credential', 'webhooks:read'],
  ['POST', '/deliveries/:id/resend', 'root', 'credential', 'webhooks:write'],
  ['GET', '/console/oidc', 'page', 'proof'],
  ['GET', '/console/sign-in', 'public', 'anyone'],
  ['POST DELETE', '/console/session', 'admin', 'proof'],
  ['GET', '/console/session', 'admin', 'console'],
  ['POST', '/console/login/passkey', 'admin', 'proof'],
  ['POST', '/console/login/passkey/options', 'admin', 'proof'],
  ['POST', '/console/passkeys/options', 'admin', 'console'],
  ['GET POST', '/console/passkeys', 'admin', 'console'],
  ['DELETE', '/console/passkeys/:id', 'admin', 'console'],
  ['POST', '/console/session/operator', 'admin', 'console'],
  ['POST PUT', '/console/session/second-factor', 'admin', 'console'],
  ['POST DELETE', '/portal/session', 'portal', 'proof'],
  ['GET', '/portal/session', 'portal', 'portal'],
  ['GET', '/portal/api/*', 'portal', 'portal'],
  ['GET', '/portal/api/health', 'portal', 'portal'],
  ['GET', '/portal/api/errors', 'portal', 'portal'],
  ['GET', '/portal/api/requests/:id', 'portal', 'portal'],
  ['GET', '/portal/api/consents', 'portal', 'portal'],
  ['DELETE', '/portal/api/consents/:id', 'portal', 'portal'],
  ['GET', '/portal/api/keys', 'portal', 'portal', 'keys:read'],
  ['POST', '/portal/api/keys', 'portal', 'portal', 'keys:write'],
  ['DELETE', '/portal/api/keys/:id', 'portal', 'portal', 'keys:write'],
  ['POST', '/portal/api/keys/:id/roll', 'portal', 'portal', 'keys:write'],
  ['GET POST', '/admin/customers', 'admin', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/customers/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/customers/:id/export', 'admin', 'administration', 'admin', 'administrator'],
  ['GET POST', '/admin/keys', 'admin', 'administration', 'admin', 'support'],
  ['GET DELETE', '/admin/keys/:id', 'admin', 'administration', 'admin', 'support'],
  ['PATCH', '/admin/keys/:id', 'admin', 'administration', 'keys:write', 'support'],
  ['GET', '/admin/keys/:id/usage', 'admin', 'administration', 'admin'],
  ['GET', '/admin/scopes', 'admin', 'administration', 'admin'],
  ['GET', '/admin/resources', 'admin', 'administration', 'admin'],
  ['GET', '/admin/search', 'admin', 'administration', 'admin'],
  ['POST', '/admin/keys/:id/roll', 'admin', 'administration', 'admin', 'support'],
  ['GET POST', '/admin/clients', 'admin', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/clients/:client_id', 'admin', 'administration', 'admin'],
  ['POST', '/admin/clients/:client_id/rotate-secret', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/issuers', 'admin', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/issuers/:id', 'admin', 'administration', 'admin'],
  ['POST', '/admin/issuers/:id/explain', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/users', 'admin', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/users/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/users/:id/export', 'admin', 'administration', 'admin', 'administrator'],
  ['PUT', '/admin/users/:id/password', 'admin', 'administration', 'admin'],
  ['GET DELETE', '/admin/users/:id/sessions', 'admin', 'administration', 'admin'],
  ['DELETE', '/admin/users/:id/sessions/:session_id', 'admin', 'administration', 'admin'],
  ['POST', '/admin/portal-links', 'admin', 'administration', 'admin', 'support'],
  ['DELETE', '/admin/portal-links/:id', 'admin', 'administration', 'admin', 'support'],
  ['GET', '/admin/webhooks', 'admin', 'administration', 'admin'],
  ['GET', '/admin/webhooks/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/webhooks/:id/health', 'admin', 'administration', 'admin'],
  ['GET', '/admin/events', 'admin', 'administration', 'admin'],
  ['GET', '/admin/events/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/events/:id/payload', 'admin', 'administration', 'admin'],
  ['GET', '/admin/deliveries', 'admin', 'administration', 'admin'],
  ['GET', '/admin/deliveries/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/jobs', 'admin', 'administration', 'admin'],
  ['GET', '/admin/jobs/:id', 'admin', 'administration', 'admin'],
  ['POST', '/admin/jobs/:id/cancel', 'admin', 'administration', 'admin'],
  ['POST', '/admin/jobs/:id/retry', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/operators', 'admin', 'administration', 'admin'],
  ['PATCH', '/admin/operators/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/operators/:id/credentials', 'admin', 'administration', 'admin'],
  ['POST', '/admin/operators/:id/link', 'admin', 'administration', 'admin'],
  ['POST', '/admin/operators/:id/invitation', 'admin', 'administration', 'admin'],
  ['DELETE', '/admin/operators/:id/second-factor', 'admin', 'administration', 'admin'],
  ['GET', '/admin/operator-sessions', 'admin', 'administration', 'admin'],
  ['DELETE', '/admin/operator-sessions/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions', 'admin', 'administration', 'admin'],
  ['GET PUT', '/admin/versions/:version', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/usage', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/callers', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/traffic', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/changelog', 'admin', 'administration', 'admin'],
  ['POST', '/admin/versions/:version/notices', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/clock', 'admin', 'administration', 'admin'],
  ['GET', '/admin/audit', 'admin', 'administration', 'audit:read'],
  ['GET', '/admin/audit/stream', 'admin', 'administration', 'audit:read'],
  ['POST', '/admin/restore/release', 'admin', 'administration', 'admin'],
  ['POST', '/admin/restore/confirm', 'admin', 'administration', 'admin'],
  ['GET', '/admin/system', 'admin', 'administration', 'admin'],
  ['GET', '/admin/series', 'admin', 'administration', 'admin'],
  ['GET', '/admin/attention', 'admin', 'administration', 'admin'],
  ['PUT', '/admin/attention/:id', 'admin', 'administration', 'admin', 'support'],
  ['GET', '/admin/stream', 'admin', 'administration', 'admin'],
  ['GET', '/admin/errors', 'admin', 'administration', 'admin'],
  ['GET', '/admin/requests', 'admin', 'administration', 'admin'],
  ['GET', '/admin/requests/:id', 'admin', 'administration', 'admin'],
]

interface EngineRoute extends Permission {
  readonly kind: Exclude<Kind, 'unknown'>
  /** Whether the listener for private networks serves it. */
  readonly isInternal: boolean
}

/** The table with one method in each row. */
export const engineRoutes: readonly EngineRoute[] = rows.flatMap(
  ([methods, path, kind, callers, scope, role]) =>
    methods.split(' ').map((name) => {
      const isInternal = name.endsWith('*')
      const method = name.replace('*', '') as Permission['method']
      const isRead = method === 'GET' && role !== 'administrator'
      const leastRole = isRead ? 'viewer' : (role ?? 'administrator')
      const isForRoles = callers === 'administration'
      const access = { callers, scope, role: isForRoles ? leastRole : undefined }
      return { method, path, kind, isInternal, ...access }
    }),
)

/** The path under which an operator acts for a customer; public paths follow it. */
export const ACTING_PATH = '/admin/as/:customer/:mode'

/** The public paths of a customer, without its event stream: operators have `/admin/stream`. */
const CUSTOMER_PATHS = /^\/(api|events|webhooks|deliveries)(\/|$)(?!stream$)/

/** Changes that need the role support only; others need an administrator. */
const SUPPORT_PATHS = /^\/(webhooks|deliveries)(\/|$)/

/** Returns the permission of a public operation under `ACTING_PATH`. */
function actingPermissionOf(method: string, path: string): Permission {
  const changeRole = SUPPORT_PATHS.test(path) ? 'support' : 'administrator'
  return {
    method: method as Permission['method'],
    path: ACTING_PATH + path,
    callers: 'administration',
    scope: 'admin',
    role: method === 'GET' ? 'viewer' : changeRole,
  }
}

const isCustomerPath = (path: string): boolean => CUSTOMER_PATHS.test(path)

/** The engine's routes under `ACTING_PATH`; declared ones follow them. */
export const actingRoutes: readonly Permission[] = engineRoutes
  .filter(({ path, callers }) => callers === 'credential' && isCustomerPath(path))
  .map(({ method, path }) => actingPermissionOf(method, path))

/** The path under which a session of the portal uses public paths of its customer. */
const PORTAL_PATH = '/portal/api'
const PORTAL_PATHS = /^\/(events|webhooks|deliveries)(\/|$)/
const isPortalPath = (path: string): boolean => PORTAL_PATHS.test(path)

/** The engine's routes under `PORTAL_PATH`. */
export const portalRoutes: readonly Permission[] = engineRoutes
  .filter(({ path }) => isPortalPath(path))
  .map((row) => ({ ...row, path: PORTAL_PATH + row.path, callers: 'portal' }))
const rowsByRoute = new Map(engineRoutes.map((row) => [`${row.method} ${row.path}`, row]))

/** Throws for a route without a row: a mistake in the program, found at start. */
function rowOf(method: string, path: string): EngineRoute {
  const row = rowsByRoute.get(`${method} ${path}`)
  if (!row) throw new Error(`route-table.ts has no row for ${method} ${path}`)
  return row
}

/**
 * Joins the handlers of the engine's routes with the kind, callers and scope of their rows, and
 * adds the endpoints under `PORTAL_PATH`.
 */
export function bindRoutes(routes: readonly Route[]): Endpoint[] {
  const endpoints = mergePaths(routes).map(bindRoute)
  const mounted = mountEndpoints(
    endpoints.filter(({ path }) => isPortalPath(path)),
    {
      prefix: PORTAL_PATH,
      kind: 'portal',
      access: ({ scope }) => ({ callers: CALLERS.portal.kinds, scope }),
    },
  )
  return [...endpoints, ...mounted]
}

/** Joins the routes of a path, which have a method each. */
function mergePaths(routes: readonly Route[]): Route[] {
  const merged = new Map<string, Route>()
  for (const { path, methods } of routes) {
    merged.set(path, { path, methods: { ...merged.get(path)?.methods, ...methods } })
  }
  return [...merged.values()]
}

function bindRoute({ path, methods }: Route): Endpoint {
  const { kind } = rowOf(Object.keys(methods)[0]!, path)
  const operations = Object.entries(methods).map(([method, handler]) => {
    const { callers, scope, role } = rowOf(method, path)
    const { kinds } = CALLERS[callers]
    const access = kinds ? { callers: kinds, scope, role } : { authenticated: false }
    const strict = STRICT_KINDS.has(kind) ? withoutUnknownParameters(handler) : handler.handle
    const handle = method === 'GET' ? strict : withoutDryRun(strict)
    return [method, { ...handler, ...access, handle }] as const
  })
  return { kind, path, methods: Object.fromEntries(operations) }
}

/** Kinds whose callers are programs of the API. Others tolerate parameters, as RFC 6749 does. */
const STRICT_KINDS = new Set<Endpoint['kind']>(['api', 'root', 'admin', 'portal', 'mcp'])

/** Returns the endpoints of customers under `ACTING_PATH`. */
export const bindActing = (
  endpoints: readonly Endpoint[],
  enter: NonNullable<Mount['enter']>,
): Endpoint[] =>
  mountEndpoints(
    endpoints.filter(({ path }) => isCustomerPath(path)),
    {
      prefix: ACTING_PATH,
      kind: 'admin',
      enter,
      access(_, method, path) {
        const { callers, scope, role } = actingPermissionOf(method, path)
        return { callers: CALLERS[callers].kinds, scope, role, authenticated: true }
      },
    },
  )

/** Returns each method of the endpoints with its callers and scope, declared ones included. */
export const permissionsOf = (endpoints: readonly Endpoint[]): Permission[] =>
  endpoints.flatMap(({ path, methods }) =>
    Object.entries(methods).map(([method, { authenticated, scope }]) => {
      const row = rowsByRoute.get(`${method} ${path}`)
      if (path.startsWith(`${ACTING_PATH}/`)) {
        return actingPermissionOf(method, path.slice(ACTING_PATH.length))
      }
      const isMounted = !row && path.startsWith(`${PORTAL_PATH}/`)
      const declared = authenticated === false ? 'anyone' : 'credential'
      return {
        method: method as Permission['method'],
        path,
        role: row?.role,
        callers: isMounted ? 'portal' : (row?.callers ?? declared),
        scope: scope ?? row?.scope,
      }
    }),
  )
