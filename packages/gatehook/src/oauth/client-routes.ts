/** `/admin/clients` (§13): the operations of `client-administration.ts` over HTTP. */
import { type AdminDeps, adminOperations, secretResponse } from '../access/admin-operations.ts'
import { noContent, type Route, route } from '../http/call.ts'
import {
  type ClientAdministration,
  clientTable,
  createClient,
  deleteClient,
  rotateSecret,
  updateClient,
} from './client-administration.ts'

export function clientRoutes(administration: ClientAdministration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminOperations(administration, deps)
  const client = row((from, { params }) => clientTable.read(from, params.client_id!))
  return [
    route('/admin/clients', {
      GET: list(clientTable),
      POST: change(
        'required',
        (admin, { body }, caller) => createClient(admin, body, caller),
        (created) =>
          secretResponse(201, created, { location: `/admin/clients/${created.client_id}` }),
      ),
    }),
    route('/admin/clients/:client_id', {
      GET: client.read,
      PATCH: client.change('required', (admin, { params, body }, caller) =>
        updateClient(admin, params.client_id!, body, caller),
      ),
      DELETE: client.change(
        'none',
        (admin, { params }, caller) => deleteClient(admin, params.client_id!, caller),
        noContent,
      ),
    }),
    route('/admin/clients/:client_id/rotate-secret', {
      POST: client.change(
        'optional',
        (admin, { params, body }, caller) => rotateSecret(admin, params.client_id!, body, caller),
        (client) => secretResponse(200, client),
      ),
    }),
  ]
}
