/** The operations on customers and API keys (§13), and the probe of a credential (§3.7). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { Administration } from './administration.ts'
import { customer } from './collections.ts'
import { customerCreation, customerPatch } from './customers.ts'
import {
  apiKey,
  createdApiKey,
  keyCreation,
  keyPatch,
  keyTakeOver,
  newApiKey,
} from './key-members.ts'
import { keyQuery, listedKey } from './listed-keys.ts'
import { rotationInput } from './secret-store.ts'

export const customerOperations = {
  list: operation('GET /admin/customers', {
    id: 'list_customers',
    summary: 'List customers',
    output: b.page(customer),
  }),
  create: operation('POST /admin/customers', {
    id: 'create_customer',
    summary: 'Create a customer',
    input: customerCreation,
    headers: ['Idempotency-Key'],
    output: customer,
    status: 201,
    location: '/admin/customers/{id}',
    errors: ['conflict'],
  }),
  read: operation('GET /admin/customers/:id', {
    id: 'get_customer',
    summary: 'Read a customer',
    output: customer,
  }),
  update: operation('PATCH /admin/customers/:id', {
    id: 'update_customer',
    summary: 'Change a customer',
    description:
      'Limits are merged; `null` removes one. The default customer cannot be suspended (422).',
    input: customerPatch,
    inputExample: { name: 'Acme AG', contact_email: 'api@acme.example' },
    headers: ['If-Match', 'Idempotency-Key'],
    output: customer,
    errors: ['conflict'],
  }),
}

export const keyOperations = (admin: Pick<Administration, 'scopes' | 'versions'>) => ({
  list: operation('GET /admin/keys', {
    id: 'list_keys',
    summary: 'List API keys',
    query: keyQuery,
    output: b.page(listedKey),
  }),
  create: operation('POST /admin/keys', {
    id: 'create_key',
    summary: 'Create an API key',
    description:
      'With `sha256` and `hint` it takes over a key of any form that you have issued. Then the ' +
      'response has no `key`.',
    input: { ...keyCreation(admin), ...keyTakeOver },
    inputExample: { name: 'Shop backend', scopes: ['webhooks:read'] },
    headers: ['Idempotency-Key'],
    output: createdApiKey,
    status: 201,
    location: '/admin/keys/{id}',
    isSecret: true,
    errors: ['conflict', 'limit_reached'],
  }),
  read: operation('GET /admin/keys/:id', {
    id: 'get_key',
    summary: 'Read an API key that is not revoked',
    output: listedKey,
  }),
  update: operation('PATCH /admin/keys/:id', {
    id: 'update_key',
    summary: 'Change the name, scopes, addresses, expiry or version of an API key',
    description:
      '`keys:write` narrows keys of its own customer and mode. Only `admin` widens a key.',
    input: keyPatch(admin),
    headers: ['If-Match', 'Idempotency-Key'],
    output: apiKey,
    errors: ['insufficient_scope', 'invalid_state'],
  }),
  revoke: operation('DELETE /admin/keys/:id', {
    id: 'revoke_key',
    summary: 'Revoke an API key at once',
    headers: ['If-Match', 'Idempotency-Key'],
  }),
  roll: operation('POST /admin/keys/:id/roll', {
    id: 'roll_key',
    summary: 'Generate a new secret for an API key',
    description: 'Older secrets stay valid for the overlap, or end at once with 0.',
    input: rotationInput,
    body: 'optional',
    headers: ['If-Match', 'Idempotency-Key'],
    output: newApiKey,
    isSecret: true,
    errors: ['invalid_state', 'limit_reached'],
  }),
})

export const scopeOperations = {
  list: operation('GET /admin/scopes', {
    id: 'list_scopes',
    summary: 'List the scopes that a key can hold, in words',
    tag: 'keys',
    output: b
      .object({
        data: b.list(
          b.object({
            name: b.text().example('webhooks:read'),
            words: b
              .text()
              .describe('The operations that the scope permits.')
              .example('See the webhooks of the customer and their deliveries'),
            kind: b
              .oneOf(['account', 'read', 'write', 'all', 'action'])
              .describe('`account` covers data of the whole customer.'),
            collection: b
              .text()
              .nullable()
              .describe('The collection that it covers; null for the whole account.')
              .example(null),
          }),
        ),
      })
      .named('Scopes'),
  }),
}

export const protectedOperation = operation('GET /api/protected', {
  id: 'probe_credential',
  summary: 'Validate a credential',
  tag: 'credentials',
  output: b.object({
    status: b.oneOf(['ok']),
    user: b.text().describe('The subject of the credential.').example('42'),
  }),
  returns: 'The credential is valid.',
})
