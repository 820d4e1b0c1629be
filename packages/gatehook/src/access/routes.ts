/** `/admin/customers`, `/admin/keys` (§13) and `/api/{v}/protected` (§3.7). */
import { json, noContent, type Route, route } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import { type AdminDeps, adminOperations, secretResponse } from './admin-operations.ts'
import { type Administration, customerId } from './administration.ts'
import { customerTable, keyTable } from './collections.ts'
import { createCustomer, updateCustomer } from './customers.ts'
import { isKeyInReach, keyReachOf, updateKey } from './key-update.ts'
import { createKey, revokeKey, rollKey } from './keys.ts'

export function customerRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminOperations(admin, deps)
  const customer = row((from, { params }) => customerTable.read(from, customerId(params.id!)))
  return [
    route('/admin/customers', {
      GET: list(customerTable),
      POST: change(
        'required',
        (admin, { body }, { actor }) => createCustomer(admin, body, actor),
        (created) => json(201, created, { location: `/admin/customers/${created.id}` }),
      ),
    }),
    route('/admin/customers/:id', {
      GET: customer.read,
      PATCH: customer.change('required', (admin, { params, body }, { actor }) =>
        updateCustomer(admin, params.id!, body, actor),
      ),
    }),
  ]
}

export function keyRoutes(admin: Administration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminOperations(admin, deps)
  const key = row((from, { params }) => keyTable.read(from, params.id!))
  // A key out of reach is 404 also before `If-Match` is compared.
  const keyInReach = row(async (from, { params, principal }) => {
    const key = await keyTable.read(from, params.id!)
    if (!isKeyInReach(keyReachOf(principal!), key)) throw new Failure('not_found')
    return key
  })
  return [
    route('/admin/keys', {
      GET: list(keyTable),
      POST: change(
        'required',
        (admin, { body }, caller) => createKey(admin, body, caller),
        (created) => secretResponse(201, created, { location: `/admin/keys/${created.id}` }),
      ),
    }),
    route('/admin/keys/:id', {
      GET: key.read,
      PATCH: keyInReach.change('required', (admin, { params, body, principal }, { actor }) =>
        updateKey(admin, params.id!, body, { actor, reach: keyReachOf(principal!) }),
      ),
      DELETE: key.change(
        'none',
        (admin, { params }, caller) => revokeKey(admin, params.id!, caller),
        noContent,
      ),
    }),
    route('/admin/keys/:id/roll', {
      POST: key.change(
        'optional',
        (admin, { params, body }, caller) => rollKey(admin, params.id!, body, caller),
        (rolled) => secretResponse(200, rolled),
      ),
    }),
  ]
}

/** Returns the subject of the caller, for every scheme. */
export const protectedRoute: Route = route('/api/protected', {
  GET: { handle: ({ principal }) => json(200, { status: 'ok', user: principal!.subject }) },
})
