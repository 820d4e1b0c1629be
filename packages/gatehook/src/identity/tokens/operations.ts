/** The operations on tokens and the sessions of a person (§4.4, §4.5), and the key set (§4.6). */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { sessionTokens } from './api.ts'

export const session = b
  .object({
    id: b.text().example('ses_01jdq8w9vgk7'),
    client_id: b.text().example('client_01jdq8w9vgk7'),
    scope: b.text().describe('Scopes, separated by a space.').example('webhooks:read'),
    created_at: b.time(),
    last_used_at: b.time(),
    expires_at: b.time(),
  })
  .named('Session')
  .columns({
    client_id: { title: 'client' },
    last_used_at: { as: 'ago' },
    created_at: { title: 'since', as: 'time' },
    id: {},
    expires_at: { as: 'time' },
    scope: { none: 'none', isWide: true },
  })

export type SessionJson = JsonOf<typeof session>

const coordinate = b.text().optional().describe('A coordinate of `EC`.')

const publicKey = b.object({
  kty: b.oneOf(['EC', 'RSA']).describe('`EC`: of access tokens; both sign ID tokens.'),
  crv: b.oneOf(['P-256']).optional().describe('The curve of `EC`.'),
  x: coordinate.example('f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU'),
  y: coordinate.example('x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'),
  n: b
    .text()
    .optional()
    .describe('The modulus of `RSA`.')
    .example('0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiA'),
  e: b.text().optional().describe('The exponent of `RSA`.').example('AQAB'),
  kid: b.text().describe('The id of the key, in the head of its tokens.').example('3q2-7w'),
  use: b.oneOf(['sig']).describe('It verifies signatures.'),
  alg: b.oneOf(['ES256', 'RS256']).describe('The algorithm.'),
})

const refreshToken = b.text().secret().example('grt_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9j')

/** A key that signs access tokens, without its content (`GET /admin/system`). */
export const signingKeyState = b
  .object({
    id: b.text().describe('The `kid` of its tokens.').example('3q2-7w'),
    algorithm: b.oneOf(['ES256']).describe('The algorithm of its signatures.'),
    created_at: b.time(),
    signs_from: b.time().describe('When it begins to sign.'),
    state: b
      .oneOf(['next', 'current', 'previous'])
      .describe('`current` signs; `previous` verifies tokens until they have expired.'),
  })
  .named('SigningKey')
  .columns({
    id: { title: 'key id', as: 'code', isWide: true },
    state: {
      states: [
        [
          'state',
          {
            next: ['hold', 'signs next'],
            current: ['ok', 'signs'],
            previous: ['idle', 'verifies only'],
          },
        ],
      ],
    },
    created_at: { as: 'time' },
    algorithm: {},
    signs_from: { as: 'time' },
  })

export type SigningKeyState = JsonOf<typeof signingKeyState>

export const tokenOperations = {
  keySet: operation('GET /.well-known/jwks.json', {
    id: 'get_key_set',
    tag: 'oauth',
    summary: 'Read the public keys that verify access tokens (RFC 7517)',
    output: b.object({ keys: b.list(publicKey) }).named('KeySet'),
  }),
  assertionKeySet: operation('GET /.well-known/assertion-jwks.json', {
    id: 'get_assertion_key_set',
    tag: 'oauth',
    summary: 'Read the public keys that verify `Gatehook-Assertion` (RFC 7517)',
    output: b.object({ keys: b.list(publicKey) }).named('AssertionKeySet'),
  }),
  refresh: operation('POST /auth/refresh', {
    id: 'refresh_tokens',
    summary: 'Exchange a refresh token for the next tokens of its session',
    description:
      'A reused refresh token ends its session. A confidential client authenticates by Basic.',
    input: {
      refresh_token: refreshToken,
      resource: b
        .text()
        .optional()
        .describe('Narrows the audience of the next access token (RFC 8707).')
        .example('https://api.example.com'),
    },
    isOpen: true,
    body: 'optional',
    bodyCode: 'invalid_request',
    output: sessionTokens,
    isSecret: true,
    errors: [
      'invalid_grant',
      'invalid_client',
      'invalid_target',
      'customer_suspended',
      'ambiguous_credentials',
    ],
  }),
  logout: operation('POST /auth/logout', {
    id: 'logout',
    summary: 'End a session by its refresh token, its access token, or both',
    input: { refresh_token: refreshToken.optional() },
    isOpen: true,
    body: 'optional',
    bodyCode: 'invalid_request',
    errors: ['invalid_grant', 'invalid_token', 'ambiguous_credentials'],
  }),
  logoutAll: operation('POST /auth/logout-all', {
    id: 'logout_all',
    summary: 'End every session of the person',
    input: {},
    isOpen: true,
    body: 'optional',
    bodyCode: 'invalid_request',
  }),
  sessions: operation('GET /auth/sessions', {
    id: 'list_sessions',
    summary: 'List the sessions of the person',
    output: b.page(session),
  }),
  readSession: operation('GET /auth/sessions/:id', {
    id: 'get_session',
    summary: 'Read a session of the person',
    output: session,
  }),
  endSession: operation('DELETE /auth/sessions/:id', {
    id: 'end_session',
    summary: 'End a session of the person',
  }),
}
