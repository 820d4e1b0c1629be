/**
 * Who reaches what: one row for each endpoint of the engine, with the kinds of caller it accepts
 * and the scope they need (§3.6, §4.5, §13). The pipeline enforces the table, the documentation
 * page is generated from it, and a test calls every row as every kind of caller. Endpoints of
 * declared resources and routes have no row: their declaration names their scopes (§6.1).
 */
import type { Endpoint, Method, Operation } from './http/call.ts'
import type { CallerKind } from './kernel/principal.ts'

/** The callers that a column value stands for. */
export const CALLERS = {
  /** No credential is requested; where one is sent, the handler does not read it. */
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
    kinds: ['key', 'client', 'person', 'application'],
    means: 'every valid credential: key, client, person, third-party application',
  },
  account: {
    kinds: ['person'],
    means: 'a person in a first-party session (login, Basic, or a client with `first_party: true`)',
  },
  administration: {
    kinds: ['key', 'client', 'person', 'application', 'operator'],
    means: 'a credential with the scope, or an operator signed in to the console',
  },
  console: { kinds: ['operator'], means: 'an operator signed in to the console' },
} as const satisfies Record<
  string,
  { readonly kinds: readonly CallerKind[] | undefined; readonly means: string }
>

export type Callers = keyof typeof CALLERS

export interface Permission {
  readonly method: Exclude<Method, 'HEAD' | 'OPTIONS'>
  /** The route template, without a version: `/webhooks/:id`. */
  readonly path: string
  readonly callers: Callers
  readonly scope: string | undefined
}

/** Methods, path, callers, scope. `HEAD` is `GET`; `OPTIONS` needs no credential anywhere. */
const rows: readonly (readonly [string, string, Callers, scope?: string])[] = [
  ['GET', '/', 'anyone'],
  ['GET', '/healthz', 'anyone'],
  ['GET', '/readyz', 'anyone'],
  ['GET', '/metrics', 'operators', 'admin'],
  ['GET', '/openapi/:document', 'anyone'],
  ['GET', '/.well-known/jwks.json', 'anyone'],
  ['GET', '/.well-known/oauth-authorization-server', 'anyone'],
  ['GET', '/.well-known/openid-configuration', 'anyone'],
  ['GET', '/.well-known/oauth-protected-resource', 'anyone'],

  ['POST', '/auth/login', 'proof'],
  ['POST', '/auth/refresh', 'proof'],
  ['POST', '/auth/logout', 'proof'],
  ['POST', '/auth/logout-all', 'account'],
  ['POST', '/auth/password', 'account'],
  ['GET', '/auth/sessions', 'account'],
  ['GET DELETE', '/auth/sessions/:id', 'account'],
  ['GET', '/auth/consents', 'account'],
  ['DELETE', '/auth/consents/:client_id', 'account'],

  ['GET', '/oauth/authorize', 'anyone'],
  ['POST', '/oauth/sign-in', 'proof'],
  ['POST', '/oauth/consent', 'proof'],
  ['POST', '/oauth/token', 'proof'],
  ['POST', '/oauth/revoke', 'proof'],
  ['POST', '/oauth/introspect', 'proof'],

  ['GET', '/api/protected', 'credential'],

  ['GET', '/events', 'credential', 'events:read'],
  ['POST', '/events', 'credential', 'events:write'],
  ['GET', '/events/stream', 'credential', 'events:read'],
  ['GET', '/events/:id', 'credential', 'events:read'],

  ['GET', '/webhooks', 'credential', 'webhooks:read'],
  ['POST', '/webhooks', 'credential', 'webhooks:write'],
  ['GET', '/webhooks/:id', 'credential', 'webhooks:read'],
  ['PATCH DELETE', '/webhooks/:id', 'credential', 'webhooks:write'],
  ['POST', '/webhooks/:id/test', 'credential', 'webhooks:write'],
  ['POST', '/webhooks/:id/rotate-secret', 'credential', 'webhooks:write'],
  ['GET', '/webhooks/:id/deliveries', 'credential', 'webhooks:read'],
  ['POST', '/webhooks/:id/recover', 'credential', 'webhooks:write'],
  ['POST DELETE', '/webhooks/:id/replay', 'credential', 'webhooks:write'],
  ['GET', '/deliveries/:id', 'credential', 'webhooks:read'],
  ['POST', '/deliveries/:id/resend', 'credential', 'webhooks:write'],

  ['POST DELETE', '/console/session', 'proof'],
  ['GET', '/console/session', 'console'],
  ['POST', '/console/session/operator', 'console'],
  ['POST PUT', '/console/session/second-factor', 'console'],

  ['GET POST', '/admin/customers', 'administration', 'admin'],
  ['GET PATCH', '/admin/customers/:id', 'administration', 'admin'],
  ['GET POST', '/admin/keys', 'administration', 'admin'],
  ['GET DELETE', '/admin/keys/:id', 'administration', 'admin'],
  ['PATCH', '/admin/keys/:id', 'administration', 'keys:write'],
  ['POST', '/admin/keys/:id/roll', 'administration', 'admin'],
  ['GET POST', '/admin/clients', 'administration', 'admin'],
  ['GET PATCH DELETE', '/admin/clients/:client_id', 'administration', 'admin'],
  ['POST', '/admin/clients/:client_id/rotate-secret', 'administration', 'admin'],
  ['GET POST', '/admin/users', 'administration', 'admin'],
  ['GET PATCH', '/admin/users/:id', 'administration', 'admin'],
  ['PUT', '/admin/users/:id/password', 'administration', 'admin'],
  ['GET', '/admin/operator-sessions', 'administration', 'admin'],
  ['DELETE', '/admin/operator-sessions/:id', 'administration', 'admin'],
  ['GET', '/admin/versions', 'administration', 'admin'],
  ['GET PUT', '/admin/versions/:version', 'administration', 'admin'],
  ['GET', '/admin/versions/:version/usage', 'administration', 'admin'],
  ['GET POST', '/admin/clock', 'administration', 'admin'],
  ['GET', '/admin/audit', 'administration', 'admin'],
  ['GET', '/admin/system', 'administration', 'admin'],
]

/** The table with one method in each row. */
export const permissions: readonly Permission[] = rows.flatMap(([methods, path, callers, scope]) =>
  methods
    .split(' ')
    .map((method) => ({ method: method as Permission['method'], path, callers, scope })),
)

/** The OpenAPI documents are one row, whatever versions a service has. */
const templateOf = (path: string): string =>
  path.replace(/^\/openapi\/[^/]+$/, '/openapi/:document')

const byRoute = new Map(permissions.map((row) => [`${row.method} ${row.path}`, row]))

/**
 * Returns the endpoints with the callers and scopes of the table. Throws for an endpoint without a
 * row and for one that names another scope: both are mistakes of the program, found at start.
 */
export const permit = (endpoints: readonly Endpoint[]): Endpoint[] =>
  endpoints.map((endpoint) => ({
    ...endpoint,
    methods: Object.fromEntries(
      Object.entries(endpoint.methods).map(([method, operation]) => [
        method,
        isDeclared(endpoint) ? operation : permitOperation(method, endpoint.path, operation),
      ]),
    ),
  }))

/** Whether the endpoint follows from the service's own declaration. */
export const isDeclared = ({ kind, path }: Endpoint): boolean =>
  kind === 'api' && path !== '/api/protected'

function permitOperation(method: string, path: string, operation: Operation): Operation {
  const row = byRoute.get(`${method} ${templateOf(path)}`)
  if (!row) throw new Error(`permissions.ts has no row for ${method} ${path}`)
  const { kinds } = CALLERS[row.callers]
  const { scope, authenticated = true } = operation
  if (authenticated !== (kinds !== undefined) || (authenticated && scope !== row.scope)) {
    throw new Error(`${method} ${path} does not agree with its row in permissions.ts`)
  }
  return { ...operation, callers: kinds }
}

/** Lists each method of the endpoints with its callers and scope, declared endpoints included. */
export const permissionsOf = (endpoints: readonly Endpoint[]): Permission[] =>
  endpoints.flatMap((endpoint) =>
    Object.entries(endpoint.methods).map(([method, operation]) => {
      const row = isDeclared(endpoint)
        ? undefined
        : byRoute.get(`${method} ${templateOf(endpoint.path)}`)
      const callers = operation.authenticated === false ? 'anyone' : 'credential'
      return {
        method: method as Permission['method'],
        path: endpoint.path,
        callers: row?.callers ?? callers,
        scope: operation.scope ?? row?.scope,
      } as const
    }),
  )
