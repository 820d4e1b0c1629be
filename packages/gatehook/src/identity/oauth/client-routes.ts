/** `/admin/clients` (§13): the operations of `client-administration.ts` over HTTP. */

import type { Route } from '../../protocol/http/call.ts'
import { type AdminDeps, adminHandlers } from '../access/admin-handlers.ts'
import {
  type ClientAdministration,
  clientTable,
  createClient,
  deleteClient,
  rotateSecret,
  updateClient,
} from './client-administration.ts'
import { clientOperations } from './client-operations.ts'

export function clientRoutes(administration: ClientAdministration, deps: AdminDeps): Route[] {
  const { list, change, row } = adminHandlers(administration, deps)
  const operations = clientOperations(administration)
  const client = row((from, { params }) => clientTable.read(from, params.client_id!))
  return [
    list(operations.list, clientTable),
    change(operations.create, ({ admin, input, caller }) => createClient(admin, input, caller)),
    client.read(operations.read),
    client.change(operations.update, ({ admin, params, input, caller }) =>
      updateClient(admin, params.client_id!, input, caller),
    ),
    client.change(operations.remove, ({ admin, params, caller }) =>
      deleteClient(admin, params.client_id!, caller),
    ),
    client.change(operations.rotateSecret, ({ admin, params, input, caller }) =>
      rotateSecret(admin, params.client_id!, input, caller),
    ),
  ]
}
