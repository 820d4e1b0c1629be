/** The operations on trusted issuers (§16.8). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import type { Administration } from '../access/administration.ts'
import {
  explanation,
  explanationInput,
  issuerCreation,
  issuerPatch,
  trustedIssuer,
} from './issuer-members.ts'

export const issuerOperations = (admin: Pick<Administration, 'scopes'>) => ({
  list: operation('GET /admin/issuers', {
    id: 'list_issuers',
    summary: 'List the trusted issuers',
    output: b.page(trustedIssuer),
  }),
  create: operation('POST /admin/issuers', {
    id: 'create_issuer',
    summary: 'Trust an issuer of assertions',
    description:
      'Callers then exchange its assertions for access tokens at `/oauth/token`, with the grant ' +
      '`urn:ietf:params:oauth:grant-type:jwt-bearer` (RFC 7523 §2.1).',
    input: issuerCreation(admin),
    inputExample: {
      issuer: 'https://token.actions.githubusercontent.com',
      rules: [
        {
          match: { repository: 'acme/shop', ref: 'refs/heads/main' },
          customer: 'default',
          mode: 'live',
          scopes: ['webhooks:read'],
        },
      ],
    },
    headers: ['Idempotency-Key'],
    output: trustedIssuer,
    status: 201,
    location: '/admin/issuers/{id}',
    errors: ['conflict', 'limit_reached'],
  }),
  read: operation('GET /admin/issuers/:id', {
    id: 'get_issuer',
    summary: 'Read a trusted issuer',
    output: trustedIssuer,
  }),
  update: operation('PATCH /admin/issuers/:id', {
    id: 'update_issuer',
    summary: 'Change the keys or the rules of a trusted issuer',
    description: 'Rules narrow and end tokens issued before, on each node within 2 s.',
    input: issuerPatch(admin),
    inputExample: { reuse: 'until_expiry' },
    headers: ['If-Match', 'Idempotency-Key'],
    output: trustedIssuer,
  }),
  remove: operation('DELETE /admin/issuers/:id', {
    id: 'delete_issuer',
    summary: 'Delete a trusted issuer and end its tokens',
    description: 'They end on each node within 2 s.',
    headers: ['If-Match', 'Idempotency-Key'],
  }),
  explain: operation('POST /admin/issuers/:id/explain', {
    id: 'explain_assertion',
    summary: 'Explain why an assertion is accepted or refused',
    description: 'It issues no token, and the assertion stays unused.',
    input: explanationInput,
    output: explanation,
  }),
})
