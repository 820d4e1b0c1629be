/** The members of OAuth clients in requests and responses of the administration (§5.5, §13). */

import { b } from '../../protocol/fields/members.ts'
import type { Administration } from '../access/administration.ts'
import { mode } from '../access/collections.ts'
import { scopeSet } from '../access/grant-validation.ts'
import { ID_TOKEN_ALGORITHMS } from '../tokens/id-token.ts'
import { CLIENT_SOURCES, GRANT_TYPES } from './client.ts'
import { MAX_REDIRECT_URIS } from './client-metadata.ts'
import { findKeySetFault, findKeySetUrlFault, usableKeys } from './key-set.ts'
import { findRegistrationFault, REDIRECT_URI_MAX } from './redirect-uri.ts'

const NAME_MAX = 200
const MAX_KEY_SET_URL = 2_000

/** The key of RFC 8037 appendix A.2. */
export const EXAMPLE_KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  kid: '2026',
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
} as const

const idTokenAlgorithm = b
  .oneOf(ID_TOKEN_ALGORITHMS)
  .describe('The algorithm of its ID tokens (§16.10).')
  .example('RS256')

const clientMembers = {
  client_id: b.text().example('client_01jdq8w9vgk7'),
  name: b.text().example('Shop'),
  redirect_uris: b.list(b.text()).example(['https://shop.example.com/callback']),
  scopes: b.list(b.text()).example(['webhooks:read']),
  grant_types: b.list(b.oneOf(GRANT_TYPES)),
  public: b.bool().describe('The client has no secret (RFC 6749 §2.1).').example(false),
  jwks: b.json().nullable().describe('Its public keys, instead of a secret.').example(null),
  jwks_uri: b.text().nullable().describe('The URL of its public keys.').example(null),
  require_client_auth_on_refresh: b.bool(),
  first_party: b.bool().describe('Persons need not consent.').example(false),
  id_token_signed_response_alg: idTokenAlgorithm,
  source: b
    .oneOf([...CLIENT_SOURCES, 'host'])
    .describe('`registration`, `document`: it describes itself; `host`: documents are blocked.'),
  blocked: b
    .bool()
    .describe('Its requests, refreshes and access tokens are rejected.')
    .example(false),
  customer: b
    .text()
    .nullable()
    .describe('null: the person who signs in decides.')
    .example('cus_01jdq8w9vgk7'),
  mode: mode.nullable(),
  created_at: b.time(),
}

/** A client as the administration returns it. */
export const oauthClient = b
  .object(clientMembers)
  .named('Client')
  .columns({
    name: {},
    client_id: { as: 'id' },
    customer: { none: 'of the person' },
    mode: { none: 'of the person' },
    state: {
      title: 'kind',
      states: [
        ['blocked', { true: ['bad', 'blocked'] }],
        ['public', { true: ['idle', 'public'], false: ['ok', 'secret'] }],
      ],
    },
    created_at: {},
    redirect_uris: { title: 'redirects to', none: 'none', isWide: true },
    scopes: { none: 'none', isWide: true },
    grant_types: { title: 'grants', isFact: true },
    jwks: { title: 'public keys', isFact: true },
    jwks_uri: { title: 'public keys at', isFact: true },
    require_client_auth_on_refresh: { title: 'secret at a refresh', isFact: true },
    id_token_signed_response_alg: { title: 'ID tokens', isFact: true },
  })

/** A client in the only response that contains its new secret; a public client has none. */
export const clientWithSecret = b
  .object({
    ...clientMembers,
    client_secret: b
      .text()
      .optional()
      .describe('The secret; absent for a public client. Only this response contains it.')
      .example('gs_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB'),
  })
  .named('ClientWithSecret')

const redirectUri = b
  .matching(/^[^'*;,#]+$/, 'a URI of plain characters, without wildcards and a fragment', {
    format: 'uri',
    max: REDIRECT_URI_MAX,
  })
  .example('https://shop.example.com/callback')
  .refine((uri, reject) => {
    const fault = findRegistrationFault(uri)
    return fault === undefined ? uri : reject(fault)
  })

export const clientPatch = (admin: Pick<Administration, 'scopes'>) => ({
  name: b.line(NAME_MAX).optional().example('Shop'),
  redirect_uris: b.set(redirectUri, { max: MAX_REDIRECT_URIS }).optional(),
  scopes: scopeSet(admin).optional(),
  grant_types: b
    .set(b.oneOf(GRANT_TYPES), { max: GRANT_TYPES.length })
    .optional()
    .describe(
      'Default of a new client: code and refresh with redirect URIs, client credentials without. ' +
        'Client credentials act without a person, for the whole customer.',
    ),
  jwks: b
    .anyObject()
    .refine((set, reject) => {
      const fault = findKeySetFault(set)
      return fault === undefined ? usableKeys(set) : reject(fault)
    })
    .optional()
    .describe('Public keys (RFC 7517) of a client without secrets, for `private_key_jwt`.')
    .example({ keys: [EXAMPLE_KEY] }),
  jwks_uri: b
    .url(MAX_KEY_SET_URL)
    .refine((uri, reject) => {
      const fault = findKeySetUrlFault(uri)
      return fault === undefined ? uri : reject(fault)
    })
    .optional()
    .describe('The URL of its public keys, instead of `jwks`.')
    .example('https://shop.example.com/jwks.json'),
  require_client_auth_on_refresh: b.bool().optional(),
  first_party: b.bool().optional().describe('Persons need not consent.'),
  id_token_signed_response_alg: idTokenAlgorithm.optional(),
  blocked: b
    .bool()
    .optional()
    .describe('Rejects its requests, refreshes and access tokens.')
    .example(true),
})

export const clientCreation = (admin: Pick<Administration, 'scopes'>) => {
  const { blocked: _, ...members } = clientPatch(admin)
  return {
    ...members,
    name: b.line(NAME_MAX).example('Shop'),
    scopes: scopeSet(admin).example(['webhooks:read']),
    public: b.bool().optional().describe('The client has no secret (RFC 6749 §2.1).'),
    customer: b.line(NAME_MAX).optional(),
    mode: mode.optional(),
  }
}
