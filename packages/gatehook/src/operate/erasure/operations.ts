/** The operations that take customers and persons out, and give them their data (§18.11). */
import { customerDeletion } from '../../identity/access/collections.ts'
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'

export const personErasure = b
  .object({
    id: b.int(1).describe('The id of the row that signs in.').example(1),
    erasing_since: b.time().describe('When its erasure began.').example('2027-03-01T10:20:00.000Z'),
    job_id: b
      .text()
      .describe('The job that erases the person: `GET /admin/jobs/{id}` has its state.')
      .example('job_01jdq8w9vgk7'),
  })
  .named('PersonErasure')

/** Of a service in which the rows of a resource sign in. */
export const personErasureOperations = {
  exportPerson: operation('GET /admin/users/:id/export', {
    id: 'export_person',
    tag: 'people',
    summary: 'Export all data of a person',
    description:
      'Each line is a JSON object with `table` and `row`: the row of the person, rows that ' +
      'belong to it, their events, inputs of jobs, sessions and requests. It has no credential, ' +
      'hash or secret. Needs an administrator.',
    params: { id: b.int(1) },
    query: {},
    produces: 'application/x-ndjson',
    returns: 'A row of the person in each line.',
    text: '{"table":"people","row":{"id":1}}\n',
  }),
  erasePerson: operation('DELETE /admin/users/:id', {
    id: 'erase_person',
    tag: 'people',
    summary: 'Erase the personal data of a person',
    description:
      'The row need not have a credential. Its credential and sessions end at once, on each node ' +
      'within 2 s. A job then erases the sign-in name and the fields with `.personal()` in rows, ' +
      'events, deliveries, jobs, mail and logs; the rows stay. `person.erased` is emitted at the ' +
      'end.',
    params: { id: b.int(1) },
    output: personErasure,
    status: 202,
  }),
}

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
