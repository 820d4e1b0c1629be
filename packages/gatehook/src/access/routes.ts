/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */
import { actorOf } from '../audit/store.ts'
import { type Endpoint, json, noContent } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { acting, callerOf, secret, withCustomerIds } from './acting.ts'
import { ADMIN_SCOPE, type Administration, customerId } from './administration.ts'
import { customerRows, keyRows } from './collections.ts'
import { createCustomer, patchCustomer } from './customers.ts'
import { createKey, revokeKey, rollKey } from './keys.ts'

const scope = ADMIN_SCOPE

export interface AccessDeps {
  readonly list: Lister
  readonly perform: Perform
}

export function customerEndpoints(
  admin: Administration,
  { list, perform }: AccessDeps,
): Endpoint[] {
  const act = acting(admin, perform)
  return [
    {
      kind: 'admin',
      path: '/admin/customers',
      methods: {
        GET: { scope, handle: (call) => list(call, customerRows.collection, customerRows.view) },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createCustomer(within, call.body, actorOf(call.principal!)),
              (made) => json(201, made, { location: `/admin/customers/${made.id}` }),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/customers/:id',
      methods: {
        GET: {
          scope,
          handle: async ({ params }) =>
            json(200, await customerRows.read(admin.db, customerId(params.id!))),
        },
        PATCH: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) =>
                patchCustomer(within, call.params.id!, call.body, actorOf(call.principal!)),
              (patched) => json(200, patched),
            ),
        },
      },
    },
  ]
}

export function keyEndpoints(admin: Administration, { list, perform }: AccessDeps): Endpoint[] {
  const act = acting(admin, perform)
  return [
    {
      kind: 'admin',
      path: '/admin/keys',
      methods: {
        GET: {
          scope,
          handle: (call) => list(withCustomerIds(call), keyRows.collection, keyRows.view),
        },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createKey(within, call.body, callerOf(call)),
              (made) => secret(201, made, { location: `/admin/keys/${made.id}` }),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/keys/:id',
      methods: {
        GET: {
          scope,
          handle: async ({ params }) => json(200, await keyRows.read(admin.db, params.id!)),
        },
        DELETE: {
          scope,
          handle: (call) =>
            act(
              call,
              (within) => revokeKey(within, call.params.id!, callerOf(call)),
              () => noContent(),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/keys/:id/roll',
      methods: {
        POST: {
          scope,
          body: 'optional',
          handle: (call) =>
            act(
              call,
              (within) => rollKey(within, call.params.id!, call.body, callerOf(call)),
              (rolled) => secret(200, rolled),
            ),
        },
      },
    },
  ]
}

/** Says who the caller is, for every scheme alike. */
export const protectedEndpoint: Endpoint = {
  kind: 'api',
  path: '/api/protected',
  methods: {
    GET: { handle: ({ principal }) => json(200, { status: 'ok', user: principal!.subject }) },
  },
}
