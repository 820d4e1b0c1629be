/**
 * The metadata documents: authorization server (RFC 8414), and the protected resources (RFC 9728),
 * each of which names itself. All URLs derive from the configured issuer (§5.5). Where the server
 * has OpenID Connect, its discovery is the same document; else 404: clients then read RFC 8414.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Route } from '../../protocol/http/call.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import { isAccountScope } from '../access/scopes.ts'
import type { ResourcePath } from '../tokens/audience.ts'
import { ID_TOKEN_ALGORITHMS } from '../tokens/id-token.ts'
import { identityScopes } from '../tokens/identity-scopes.ts'
import { ASSERTION_ALGORITHMS } from './assertion.ts'
import { GRANT_TYPES } from './client.ts'
import { AUTHENTICATION_METHODS } from './client-authentication.ts'
import { metadataOperations } from './operations.ts'

interface MetadataDeps {
  readonly issuer: () => string
  /** The display name of the API. */
  readonly service: string
  readonly scopes: readonly string[]
  readonly readsDocuments: () => boolean
  readonly hasOpenid: boolean
  /** Whether clients register themselves (§16.5). */
  readonly isRegistrationOpen: boolean
  /** The scopes of clients that describe or register themselves (§16.4, §16.5). */
  readonly agentScopes: readonly string[]
  /** The paths of the protected resources. */
  readonly resources: readonly ResourcePath[]
}

/** Of ID tokens; userinfo has `sub` and the claims of the person. */
const CLAIMS = 'iss sub aud exp iat auth_time nonce at_hash name email email_verified'.split(' ')

/** Identity assertions for agents: draft-ietf-oauth-identity-assertion-authz-grant. */
const GRANT_PROFILES = ['urn:ietf:params:oauth:grant-profile:id-jag']

const HEADERS = { 'cache-control': 'public, max-age=300' }

export function metadataRoutes(deps: MetadataDeps): Route[] {
  const { issuer, service, scopes, agentScopes, resources } = deps
  const { readsDocuments, isRegistrationOpen, hasOpenid } = deps
  const secretMethods = AUTHENTICATION_METHODS.filter((method) => method !== 'none')
  const server = () => ({
    issuer: issuer(),
    authorization_endpoint: `${issuer()}/oauth/authorize`,
    token_endpoint: `${issuer()}/oauth/token`,
    device_authorization_endpoint: `${issuer()}/oauth/device_authorization`,
    jwks_uri: `${issuer()}/.well-known/jwks.json`,
    scopes_supported: hasOpenid ? [...scopes, ...Object.keys(identityScopes)] : scopes,
    ...(isRegistrationOpen && { registration_endpoint: `${issuer()}/oauth/register` }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: GRANT_TYPES,
    authorization_grant_profiles_supported: GRANT_PROFILES,
    token_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    code_challenge_methods_supported: ['S256'],
    client_id_metadata_document_supported: readsDocuments(),
    authorization_response_iss_parameter_supported: true,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    revocation_endpoint: `${issuer()}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: AUTHENTICATION_METHODS,
    revocation_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    introspection_endpoint: `${issuer()}/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: secretMethods,
    introspection_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    ui_locales_supported: ['en'],
    protected_resources: resources.map((path) => `${issuer()}${path}`),
    ...(hasOpenid && {
      userinfo_endpoint: `${issuer()}/oauth/userinfo`,
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ID_TOKEN_ALGORITHMS,
      claims_supported: CLAIMS,
      claims_parameter_supported: false,
    }),
  })
  const resourceScopes = scopes.filter((scope) => !isAccountScope(scope))
  const scopesOf: Readonly<Record<ResourcePath, readonly string[]>> = {
    '': scopes,
    '/api': resourceScopes,
    // Clients of agents request all of these: one that they may not have would reject the request.
    '/mcp': agentScopes.length > 0 ? agentScopes.toSorted() : resourceScopes,
  }
  const resource = (path: ResourcePath) => ({
    resource: `${issuer()}${path}`,
    resource_name: service,
    authorization_servers: [issuer()],
    jwks_uri: `${issuer()}/.well-known/jwks.json`,
    scopes_supported: scopesOf[path],
    bearer_methods_supported: ['header'],
  })
  return [
    implement(metadataOperations.server, () =>
      respond(metadataOperations.server, server(), HEADERS),
    ),
    implement(metadataOperations.openid, () => {
      if (!hasOpenid) throw new Failure('not_found')
      return respond(metadataOperations.openid, server(), HEADERS)
    }),
    ...resources.map((path) => {
      const operation = resourceOperations[path]
      return implement(operation, () => respond(operation, resource(path), HEADERS))
    }),
  ]
}

const resourceOperations = {
  '': metadataOperations.resource,
  '/api': metadataOperations.apiResource,
  '/mcp': metadataOperations.mcpResource,
} as const satisfies Record<ResourcePath, unknown>
