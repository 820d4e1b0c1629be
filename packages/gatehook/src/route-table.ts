/**
 * The one list of the engine's routes: methods, path, kind, the callers that each accepts and the
 * scope they need (§3.6, §4.5, §13). Modules implement the handlers; the router and the pipeline,
 * the page on permissions and the test that sends every route as every kind of caller follow from
 * this table. Declared resources and routes have no row: their declaration names the scopes (§6.1).
 */
import type { Endpoint, Kind, Method, Route } from './http/call.ts'
import type { CallerKind } from './kernel/principal.ts'

/** The callers that each value of the column names. */
export const CALLERS = {
  /** No credential is required; the handler reads none. */
  anyone: { kinds: undefined, means: 'everyone; no credential is required' },
  /** The handler authenticates the request itself. */
  proof: {
    kinds: undefined,
    means: 'the holder of the token, code, password or client secret that the request carries',
  },
  operators: {
    kinds: undefined,
    means: 'loopback without a credential; from elsewhere a credential with the scope',
  },
  credential: {
    kinds: ['key', 'client', 'person', 'application', 'cli'],
    means: 'every valid credential: key, client, person, third-party application',
  },
  account: {
    kinds: ['person'],
    means: 'a person in a first-party session (login, Basic, or a client with `first_party: true`)',
  },
  administration: {
    kinds: ['key', 'client', 'person', 'application', 'operator', 'cli'],
    means: 'a credential with the scope, or an operator signed in to the console',
  },
  console: { kinds: ['operator'], means: 'an operator signed in to the console' },
} as const satisfies Record<
  string,
  { readonly kinds: readonly CallerKind[] | undefined; readonly means: string }
>

type Callers = keyof typeof CALLERS

export interface Permission {
  readonly method: Exclude<Method, 'HEAD' | 'OPTIONS'>
  /** The route template, without a version: `/webhooks/:id`. */
  readonly path: string
  readonly callers: Callers
  readonly scope: string | undefined
}

/** `HEAD` follows `GET`; `OPTIONS` requires no credential on any path. */
type RouteRow = readonly [methods: string, path: string, Endpoint['kind'], Callers, scope?: string]

const rows: readonly RouteRow[] = [
  ['GET', '/', 'public', 'anyone'],
  ['GET', '/healthz', 'probe', 'anyone'],
  ['GET', '/readyz', 'probe', 'anyone'],
  ['GET', '/metrics', 'root', 'operators', 'admin'],
  ['GET', '/openapi/:document', 'public', 'anyone'],
  ['GET', '/.well-known/jwks.json', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-authorization-server', 'public', 'anyone'],
  ['GET', '/.well-known/openid-configuration', 'public', 'anyone'],
  ['GET', '/.well-known/oauth-protected-resource', 'public', 'anyone'],

  ['POST', '/auth/login', 'root', 'proof'],
  ['POST', '/auth/refresh', 'root', 'proof'],
  ['POST', '/auth/logout', 'root', 'proof'],
  ['POST', '/auth/logout-all', 'root', 'account'],
  ['POST', '/auth/password', 'root', 'account'],
  ['GET', '/auth/sessions', 'root', 'account'],
  ['GET DELETE', '/auth/sessions/:id', 'root', 'account'],
  ['GET', '/auth/consents', 'root', 'account'],
  ['DELETE', '/auth/consents/:client_id', 'root', 'account'],

  ['GET', '/oauth/authorize', 'page', 'anyone'],
  ['POST', '/oauth/sign-in', 'page', 'proof'],
  ['POST', '/oauth/consent', 'page', 'proof'],
  ['POST', '/oauth/token', 'oauth', 'proof'],
  ['POST', '/oauth/revoke', 'oauth', 'proof'],
  ['POST', '/oauth/introspect', 'oauth', 'proof'],

  ['GET', '/api/protected', 'api', 'credential'],

  ['GET', '/events', 'root', 'credential', 'events:read'],
  ['POST', '/events', 'root', 'credential', 'events:write'],
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
  ['POST', '/deliveries/:id/resend', 'root', 'credential', 'webhooks:write'],

  ['POST DELETE', '/console/session', 'admin', 'proof'],
  ['GET', '/console/session', 'admin', 'console'],
  ['POST', '/console/session/operator', 'admin', 'console'],
  ['POST PUT', '/console/session/second-factor', 'admin', 'console'],

  ['GET POST', '/admin/customers', 'admin', 'administration', 'admin'],
  ['GET PATCH', '/admin/customers/:id', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/keys', 'admin', 'administration', 'admin'],
  ['GET DELETE', '/admin/keys/:id', 'admin', 'administration', 'admin'],
  ['PATCH', '/admin/keys/:id', 'admin', 'administration', 'keys:write'],
  ['POST', '/admin/keys/:id/roll', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/clients', 'admin', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/clients/:client_id', 'admin', 'administration', 'admin'],
  ['POST', '/admin/clients/:client_id/rotate-secret', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/users', 'admin', 'administration', 'admin'],
  ['GET PATCH', '/admin/users/:id', 'admin', 'administration', 'admin'],
  ['PUT', '/admin/users/:id/password', 'admin', 'administration', 'admin'],
  ['GET', '/admin/operator-sessions', 'admin', 'administration', 'admin'],
  ['DELETE', '/admin/operator-sessions/:id', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions', 'admin', 'administration', 'admin'],
  ['GET PUT', '/admin/versions/:version', 'admin', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/usage', 'admin', 'administration', 'admin'],
  ['GET POST', '/admin/clock', 'admin', 'administration', 'admin'],
  ['GET', '/admin/audit', 'admin', 'administration', 'admin'],
  ['GET', '/admin/system', 'admin', 'administration', 'admin'],
]

interface EngineRoute extends Permission {
  readonly kind: Exclude<Kind, 'unknown'>
}

/** The table with one method in each row. */
export const engineRoutes: readonly EngineRoute[] = rows.flatMap(
  ([methods, path, kind, callers, scope]) =>
    methods
      .split(' ')
      .map((method) => ({ method: method as Permission['method'], path, kind, callers, scope })),
)

/** The OpenAPI documents share one row, whatever versions a service has. */
const templateOf = (path: string): string =>
  path.replace(/^\/openapi\/[^/]+$/, '/openapi/:document')

const rowsByRoute = new Map(engineRoutes.map((row) => [`${row.method} ${row.path}`, row]))

/** Throws for a route without a row: a mistake in the program, found at start. */
function rowOf(method: string, path: string): EngineRoute {
  const row = rowsByRoute.get(`${method} ${templateOf(path)}`)
  if (!row) throw new Error(`route-table.ts has no row for ${method} ${path}`)
  return row
}

/** Joins the handlers of the engine's routes with the kind, callers and scope of their rows. */
export const bindRoutes = (routes: readonly Route[]): Endpoint[] =>
  routes.map(({ path, methods }) => {
    const operations = Object.entries(methods).map(([method, handler]) => {
      const { callers, scope } = rowOf(method, path)
      const { kinds } = CALLERS[callers]
      const access = kinds ? { callers: kinds, scope } : { authenticated: false }
      return [method, { ...handler, ...access }] as const
    })
    const { kind } = rowOf(operations[0]![0], path)
    return { kind, path, methods: Object.fromEntries(operations) }
  })

/** Returns each method of the endpoints with its callers and scope, declared ones included. */
export const permissionsOf = (endpoints: readonly Endpoint[]): Permission[] =>
  endpoints.flatMap(({ path, methods }) =>
    Object.entries(methods).map(([method, { authenticated, scope }]) => {
      const row = rowsByRoute.get(`${method} ${templateOf(path)}`)
      return {
        method: method as Permission['method'],
        path,
        callers: row?.callers ?? (authenticated === false ? 'anyone' : 'credential'),
        scope: scope ?? row?.scope,
      }
    }),
  )
