/** The operations on OAuth clients (§13). */

import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import { rotationInput } from '../access/secret-store.ts'
import { clientCreation, clientPatch, clientWithSecret, oauthClient } from './client-members.ts'

export const clientOperations = (admin: Pick<Administration, 'scopes'>) => ({
  list: operation('GET /admin/clients', {
    id: 'list_clients',
    summary: 'List OAuth clients',
    output: b.page(oauthClient),
  }),
  create: operation('POST /admin/clients', {
    id: 'create_client',
    summary: 'Create an OAuth client',
    input: clientCreation(admin),
    inputExample: {
      name: 'Shop',
      scopes: ['webhooks:read'],
      redirect_uris: ['https://shop.example.com/callback'],
    },
    headers: ['Idempotency-Key'],
    output: clientWithSecret,
    status: 201,
    location: '/admin/clients/{client_id}',
    isSecret: true,
    errors: ['limit_reached'],
  }),
  read: operation('GET /admin/clients/:client_id', {
    id: 'get_client',
    summary: 'Read an OAuth client',
    output: oauthClient,
  }),
  update: operation('PATCH /admin/clients/:client_id', {
    id: 'update_client',
    summary: 'Change an OAuth client',
    description: 'Applies to tokens issued before as well, on each node within 2 s.',
    input: clientPatch(admin),
    inputExample: { name: 'Shop', blocked: true },
    headers: ['If-Match', 'Idempotency-Key'],
    output: oauthClient,
  }),
  remove: operation('DELETE /admin/clients/:client_id', {
    id: 'delete_client',
    summary: 'Delete an OAuth client, its tokens and consents',
    headers: ['If-Match', 'Idempotency-Key'],
  }),
  rotateSecret: operation('POST /admin/clients/:client_id/rotate-secret', {
    id: 'rotate_client_secret',
    summary: 'Generate a new secret for an OAuth client',
    input: rotationInput,
    body: 'optional',
    headers: ['If-Match', 'Idempotency-Key'],
    output: clientWithSecret,
    isSecret: true,
    errors: ['invalid_state', 'limit_reached'],
  }),
})
