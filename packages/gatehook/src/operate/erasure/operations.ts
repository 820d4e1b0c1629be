/** The operations that take a customer out of an installation, and give it its data (§18.11). */
import { customerDeletion } from '../../identity/access/collections.ts'
import { operation } from '../../protocol/http/operation.ts'

export const erasureOperations = {
  exportCustomer: operation('GET /admin/customers/:id/export', {
    id: 'export_customer',
    summary: 'Export all data of a customer',
    description:
      'Each line is a JSON object with `table` and `row`, the values as they are stored. It has ' +
      'no credential, hash or secret. Needs an administrator.',
    query: {},
    produces: 'application/x-ndjson',
    returns: 'A row of the customer in each line.',
    text: '{"table":"items","row":{"id":"itm_1"}}\n',
  }),
  deleteCustomer: operation('DELETE /admin/customers/:id', {
    id: 'delete_customer',
    summary: 'Delete a customer with all of its data',
    description:
      'Its credentials end at once, on each node within 2 s. A job then deletes its rows, ' +
      'events, deliveries and logs; `GET /admin/customers/{id}` has the progress, and is 404 ' +
      'after the end. The default customer is 409 `invalid_state`.',
    headers: ['Idempotency-Key'],
    output: customerDeletion,
    status: 202,
    errors: ['invalid_state'],
  }),
}
