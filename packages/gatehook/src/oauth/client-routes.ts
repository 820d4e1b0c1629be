/** `/admin/clients` (§13): the acts of `clients.ts` as paths. */
import { type AdminDeps, adminOperations, secretResponse } from '../access/admin-operations.ts'
import { noContent, type Route, route } from '../http/call.ts'
import { clientRows } from './client-collection.ts'
import {
  type ClientAdministration,
  createClient,
  deleteClient,
  patchClient,
  rotateSecret,
} from './clients.ts'

export function clientRoutes(admin: ClientAdministration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminOperations(admin, deps)
  const client = row((from, { params }) => clientRows.read(from, params.client_id!))
  return [
    route('/admin/clients', {
      GET: list(clientRows),
      POST: change(
        'required',
        (within, { body }, by) => createClient(within, body, by),
        (made) => secretResponse(201, made, { location: `/admin/clients/${made.client_id}` }),
      ),
    }),
    route('/admin/clients/:client_id', {
      GET: client.read,
      PATCH: client.change('required', (within, { params, body }, by) =>
        patchClient(within, params.client_id!, body, by),
      ),
      DELETE: client.change(
        'none',
        (within, { params }, by) => deleteClient(within, params.client_id!, by),
        noContent,
      ),
    }),
    route('/admin/clients/:client_id/rotate-secret', {
      POST: client.change(
        'optional',
        (within, { params, body }, by) => rotateSecret(within, params.client_id!, body, by),
        (rotated) => secretResponse(200, rotated),
      ),
    }),
  ]
}
