/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */
import { type Endpoint, endpoint, json, noContent } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { type AdminDeps, acting, secret } from './acting.ts'
import { type Administration, customerId, isInReach, reachOf } from './administration.ts'
import { customerRows, keyRows } from './collections.ts'
import { createCustomer, patchCustomer } from './customers.ts'
import { patchKey } from './key-change.ts'
import { createKey, revokeKey, rollKey } from './keys.ts'

export function customerEndpoints(admin: Administration, deps: AdminDeps): Endpoint[] {
  const { list, act, row } = acting(admin, deps)
  const customer = row((from, { params }) => customerRows.read(from, customerId(params.id!)))
  return [
    endpoint('admin', '/admin/customers', {
      GET: list(customerRows),
      POST: act(
        'required',
        (within, { body }, { actor }) => createCustomer(within, body, actor),
        (made) => json(201, made, { location: `/admin/customers/${made.id}` }),
      ),
    }),
    endpoint('admin', '/admin/customers/:id', {
      GET: customer.read,
      PATCH: customer.act('required', (within, { params, body }, { actor }) =>
        patchCustomer(within, params.id!, body, actor),
      ),
    }),
  ]
}

export function keyEndpoints(admin: Administration, deps: AdminDeps): Endpoint[] {
  const { list, act, row } = acting(admin, deps)
  const key = row((from, { params }) => keyRows.read(from, params.id!))
  /** Also before `If-Match` is compared: a foreign key does not exist. */
  const inReach = row(async (from, { params, principal }) => {
    const shown = await keyRows.read(from, params.id!)
    if (!isInReach(reachOf(principal!), shown)) throw new Failure('not_found')
    return shown
  }, 'keys:write')
  return [
    endpoint('admin', '/admin/keys', {
      GET: list(keyRows),
      POST: act(
        'required',
        (within, { body }, by) => createKey(within, body, by),
        (made) => secret(201, made, { location: `/admin/keys/${made.id}` }),
      ),
    }),
    endpoint('admin', '/admin/keys/:id', {
      GET: key.read,
      PATCH: inReach.act('required', (within, { params, body, principal }, { actor }) =>
        patchKey(within, params.id!, body, { actor, reach: reachOf(principal!) }),
      ),
      DELETE: key.act(
        'none',
        (within, { params }, by) => revokeKey(within, params.id!, by),
        noContent,
      ),
    }),
    endpoint('admin', '/admin/keys/:id/roll', {
      POST: key.act(
        'optional',
        (within, { params, body }, by) => rollKey(within, params.id!, body, by),
        (rolled) => secret(200, rolled),
      ),
    }),
  ]
}

/** Says who the caller is, for every scheme alike. */
export const protectedEndpoint: Endpoint = endpoint('api', '/api/protected', {
  GET: { handle: ({ principal }) => json(200, { status: 'ok', user: principal!.subject }) },
})
