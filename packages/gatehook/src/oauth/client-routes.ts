/** `/admin/clients` (§13): the acts of `clients.ts` as paths. */
import { acting, callerOf, secret, withCustomerIds } from '../access/acting.ts'
import { ADMIN_SCOPE, type Administration } from '../access/administration.ts'
import { type Endpoint, json, noContent } from '../http/call.ts'
import type { Perform } from '../idempotency/perform.ts'
import type { Lister } from '../lists/list.ts'
import { clientRows } from './client-collection.ts'
import {
  type ClientAdministration,
  createClient,
  deleteClient,
  patchClient,
  rotateSecret,
} from './clients.ts'

const scope = ADMIN_SCOPE

export interface ClientRouteDeps {
  readonly list: Lister
  readonly perform: Perform
}

export function clientEndpoints(
  admin: ClientAdministration,
  { list, perform }: ClientRouteDeps,
): Endpoint[] {
  const act = acting(admin, perform)
  const inside = (within: Administration): ClientAdministration => ({ ...admin, ...within })
  return [
    {
      kind: 'admin',
      path: '/admin/clients',
      methods: {
        GET: {
          scope,
          handle: (call) => list(withCustomerIds(call), clientRows.collection, clientRows.view),
        },
        POST: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) => createClient(inside(within), call.body, callerOf(call)),
              (made) => secret(201, made, { location: `/admin/clients/${made.client_id}` }),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/clients/:client_id',
      methods: {
        GET: {
          scope,
          handle: async ({ params }) =>
            json(200, await clientRows.read(admin.db, params.client_id!)),
        },
        PATCH: {
          scope,
          body: 'required',
          handle: (call) =>
            act(
              call,
              (within) =>
                patchClient(inside(within), call.params.client_id!, call.body, callerOf(call)),
              (patched) => json(200, patched),
            ),
        },
        DELETE: {
          scope,
          handle: (call) =>
            act(
              call,
              (within) => deleteClient(inside(within), call.params.client_id!, callerOf(call)),
              () => noContent(),
            ),
        },
      },
    },
    {
      kind: 'admin',
      path: '/admin/clients/:client_id/rotate-secret',
      methods: {
        POST: {
          scope,
          body: 'optional',
          handle: (call) =>
            act(
              call,
              (within) =>
                rotateSecret(inside(within), call.params.client_id!, call.body, callerOf(call)),
              (rotated) => secret(200, rotated),
            ),
        },
      },
    },
  ]
}
