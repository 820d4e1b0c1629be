/** The operations of the authorization server (§5), and the consents of a person (§4.5). */
import { b } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { tokenResponse } from '../tokens/api.ts'
import { ID_TOKEN_ALGORITHMS } from '../tokens/id-token.ts'
import { ASSERTION_ALGORITHMS } from './assertion.ts'
import { GRANT_TYPES } from './client.ts'
import { AUTHENTICATION_METHODS } from './client-authentication.ts'
import { EXAMPLE_KEY } from './client-members.ts'
import { oauthError, registrationError } from './error-members.ts'
import { FORM_TYPES } from './parameters.ts'

const text = b.text().optional()
const scopes = text.describe('Scopes, separated by a space.').example('webhooks:read')
const resource = text
  .describe('A resource of the tokens (RFC 8707); it may repeat.')
  .example('https://api.example.com/api')
const accepts = FORM_TYPES[0]!
const clientMembers = {
  client_id: text.describe('Unless the client authenticates by Basic.'),
  client_secret: text.secret().describe('Of a confidential client without Basic.'),
  client_assertion_type: text
    .describe('`urn:ietf:params:oauth:client-assertion-type:jwt-bearer`, with an assertion.')
    .example('urn:ietf:params:oauth:client-assertion-type:jwt-bearer'),
  client_assertion: text
    .secret()
    .describe('The JWT of a client with keys (RFC 7523 §2.2).')
    .example('eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJjbGllbnRfMSJ9.c2lnbmF0dXJl'),
}
/** The keys of a client that authenticates by `private_key_jwt`. */
const keyMembers = {
  jwks: b
    .anyObject()
    .optional()
    .describe('Its public keys (RFC 7517).')
    .example({ keys: [EXAMPLE_KEY] }),
  jwks_uri: text
    .describe('The URL of its public keys.')
    .example('https://app.example.com/jwks.json'),
}
const hint = text.describe('Not needed: the server recognizes tokens.').example('refresh_token')
const clientExample = { client_id: 'cli_6Vb1Np', client_secret: 'gcs_Zk3WdV7bN1pQ8mX2cR5t' }
const tokenExample = { token: 'grt_Yq3sK8rT1uWzB4cD7eH9j6fQx0N2mV', ...clientExample }
const token = b
  .text()
  .secret()
  .describe('The access token or refresh token.')
  .example('grt_Yq3sK8rT1uWzB4cD7eH9j6fQx0N2mV')

const uri = (path: string, description: string) =>
  b.text({ format: 'uri' }).describe(description).example(`https://api.example.com${path}`)
const texts = (description: string, example: readonly string[]) =>
  b.list(b.text()).describe(description).example(example)
const algorithms = b
  .list(b.oneOf(ASSERTION_ALGORITHMS))
  .describe('The algorithms of assertions of clients.')
  .example(ASSERTION_ALGORITHMS)
const methods = b
  .list(b.oneOf(AUTHENTICATION_METHODS))
  .describe('How clients authenticate at this endpoint.')
  .example(AUTHENTICATION_METHODS)

const ISSUER = 'The issuer: the public URL of the service.'
const jwksUri = uri('/.well-known/jwks.json', 'The keys that verify access tokens.')
const scopesSupported = texts('The scopes of the service.', ['webhooks:read'])

const serverMetadata = b
  .object({
    issuer: uri('/', ISSUER),
    authorization_endpoint: uri('/oauth/authorize', 'The page on which a person consents.'),
    token_endpoint: uri('/oauth/token', 'Issues tokens.'),
    device_authorization_endpoint: uri(
      '/oauth/device_authorization',
      'Issues codes to devices (RFC 8628).',
    ),
    registration_endpoint: uri('/oauth/register', 'Registers clients, where it is on.').optional(),
    jwks_uri: jwksUri,
    scopes_supported: scopesSupported,
    response_types_supported: texts('The types of responses.', ['code']),
    response_modes_supported: texts('How the response reaches the client.', ['query']),
    grant_types_supported: b
      .list(b.oneOf(GRANT_TYPES))
      .describe('The grants of the token endpoint.')
      .example(GRANT_TYPES),
    authorization_grant_profiles_supported: texts('The profiles of grants.', [
      'urn:ietf:params:oauth:grant-profile:id-jag',
    ]),
    token_endpoint_auth_methods_supported: methods,
    token_endpoint_auth_signing_alg_values_supported: algorithms,
    code_challenge_methods_supported: texts('The methods of PKCE (RFC 7636).', ['S256']),
    client_id_metadata_document_supported: b
      .bool()
      .describe('A `client_id` may be the URL of a document that describes the client.')
      .example(true),
    authorization_response_iss_parameter_supported: b
      .bool()
      .describe('Responses have `iss` (RFC 9207).')
      .example(true),
    request_parameter_supported: b.bool().describe('Request objects: no.').example(false),
    request_uri_parameter_supported: b.bool().describe('Request objects: no.').example(false),
    revocation_endpoint: uri('/oauth/revoke', 'Revokes tokens (RFC 7009).'),
    revocation_endpoint_auth_methods_supported: methods,
    revocation_endpoint_auth_signing_alg_values_supported: algorithms,
    introspection_endpoint: uri('/oauth/introspect', 'Returns the state of tokens (RFC 7662).'),
    introspection_endpoint_auth_methods_supported: methods,
    introspection_endpoint_auth_signing_alg_values_supported: algorithms,
    prompt_values_supported: texts('The values of `prompt`.', ['none', 'login', 'consent']),
    ui_locales_supported: texts('The languages of the pages.', ['en']),
    userinfo_endpoint: uri('/oauth/userinfo', 'Returns the person of a token.').optional(),
    subject_types_supported: texts('`sub` is the same for all clients.', ['public']).optional(),
    id_token_signing_alg_values_supported: b
      .list(b.oneOf(ID_TOKEN_ALGORITHMS))
      .optional()
      .describe('The algorithms of ID tokens.')
      .example(ID_TOKEN_ALGORITHMS),
    claims_supported: texts('The claims of ID tokens.', ['sub', 'name', 'email']).optional(),
    claims_parameter_supported: b.bool().optional().describe('The parameter: no.').example(false),
    protected_resources: b
      .list(b.text({ format: 'uri' }))
      .describe('The APIs that tokens open.')
      .example(['https://api.example.com/']),
  })
  .named('AuthorizationServerMetadata')

const resourceMetadata = b
  .object({
    resource: uri('/', 'The public URL of the service, or the API under it.'),
    resource_name: b.text().describe('The name of the service.').example('Example API'),
    authorization_servers: b
      .list(b.text({ format: 'uri' }))
      .describe('The issuers whose tokens it accepts.')
      .example(['https://api.example.com/']),
    jwks_uri: jwksUri,
    scopes_supported: scopesSupported,
    bearer_methods_supported: texts('Where requests carry the token.', ['header']),
  })
  .named('ProtectedResourceMetadata')

export const metadataOperations = {
  server: operation('GET /.well-known/oauth-authorization-server', {
    id: 'get_authorization_server',
    tag: 'oauth',
    summary: 'Read the metadata of the authorization server (RFC 8414)',
    output: serverMetadata,
  }),
  openid: operation('GET /.well-known/openid-configuration', {
    id: 'get_openid_configuration',
    tag: 'oauth',
    summary: 'Read the metadata of the authorization server (OpenID Connect Discovery)',
    output: serverMetadata,
    errors: ['not_found'],
  }),
  resource: operation('GET /.well-known/oauth-protected-resource', {
    id: 'get_protected_resource',
    tag: 'oauth',
    summary: 'Read the metadata of the protected resource (RFC 9728)',
    output: resourceMetadata,
  }),
  apiResource: operation('GET /.well-known/oauth-protected-resource/api', {
    id: 'get_protected_resource_api',
    tag: 'oauth',
    summary: 'Read the metadata of the API under `/api` as a protected resource (RFC 9728)',
    output: resourceMetadata,
  }),
  mcpResource: operation('GET /.well-known/oauth-protected-resource/mcp', {
    id: 'get_protected_resource_mcp',
    tag: 'oauth',
    summary: 'Read the metadata of `/mcp` as a protected resource (RFC 9728)',
    output: resourceMetadata,
  }),
}

const introspection = {
  scope: scopes,
  client_id: text,
  token_type: text,
  sub: text.describe('The person or client of the token.').example('42'),
  iss: text.describe(ISSUER).example('https://api.example.com/'),
  aud: text.describe('The API of the token.').example('https://api.example.com/'),
  jti: text.describe('The id of the access token.').example('jti_01jdq8w9vgk7'),
  sid: text.describe('The id of the session.').example('ses_01jdq8w9vgk7'),
  exp: b.int(0).optional().describe('When it expires, in Unix seconds.').example(1_780_307_100),
  iat: b.int(0).optional().describe('When it was issued, in Unix seconds.').example(1_780_306_200),
  customer: text,
  mode: b.oneOf(['live', 'test']).optional(),
}

const deviceCodes = b
  .object({
    device_code: b
      .text()
      .describe('For polls of the token endpoint; only this response contains it.')
      .example('Zk3WdV7bN1pQ8mX2cR5tY9aG2xYz01ABfQx0N2mVYq3'),
    user_code: b.text().describe('For the person.').example('WDJB-MJHT'),
    verification_uri: uri('/oauth/device', 'The page on which the person enters the code.'),
    verification_uri_complete: uri('/oauth/device?user_code=WDJB-MJHT', 'The same with the code.'),
    expires_in: b.int(0).describe('Lifetime of the codes in seconds.').example(600),
    interval: b.int(0).describe('Seconds between two polls.').example(5),
  })
  .named('DeviceCodes')

const registeredClient = b
  .object({
    client_id: b.text().example('client_01jdq8w9vgk7'),
    client_id_issued_at: b.int(0).describe('In Unix seconds.').example(1_780_306_200),
    client_secret: b
      .text()
      .optional()
      .describe('The secret; only this response contains it.')
      .example('gs_6fQx0N2mVYq3sK8rT1uWzB4cD7eH9jLp5aG2xYz01AB'),
    client_secret_expires_at: b.int(0).optional().describe('0: never.').example(0),
    client_name: b.text().describe('The name.').example('Agent'),
    redirect_uris: texts('The redirect URIs.', ['https://app.example.com/callback']),
    grant_types: texts('The grants.', ['authorization_code', 'refresh_token']),
    response_types: texts('The types of responses.', ['code']),
    token_endpoint_auth_method: b.text().describe('How it authenticates.').example('none'),
    ...keyMembers,
    id_token_signed_response_alg: b
      .oneOf(ID_TOKEN_ALGORITHMS)
      .describe('The algorithm of its ID tokens.')
      .example('RS256'),
    scope: scopes,
  })
  .named('RegisteredClient')

export const oauthOperations = {
  authorize: operation('GET /oauth/authorize', {
    id: 'authorize',
    summary: 'Request the consent of a person to a client, in a browser',
    description: 'Returns the sign-in or consent page, or redirects to the client (§5.1).',
    query: {
      response_type: b.oneOf(['code']),
      client_id: b.text(),
      redirect_uri: b.text({ format: 'uri' }),
      scope: scopes,
      resource,
      state: text,
      code_challenge: b.text().describe('BASE64URL(SHA256(code_verifier)) (RFC 7636).'),
      code_challenge_method: b.oneOf(['S256']),
      prompt: b.oneOf(['none', 'login', 'consent', 'select_account']).optional(),
      nonce: text.describe('The ID token repeats it (OpenID Connect Core §3.1.2.1).'),
      max_age: b.int(0).optional().describe('The longest time since the sign-in, in seconds.'),
      login_hint: text.describe('The sign-in name that the page proposes.'),
      id_token_hint: text.describe('An ID token of the person who must be signed in.'),
    },
    // Mistakes are redirects to the client (RFC 6749 §4.1.2.1), or a page, in the order of the RFC.
    validates: false,
    produces: 'text/html',
    failurePage: 'The request names no client, or no redirect URI of it.',
  }),
  token: operation('POST /oauth/token', {
    id: 'issue_tokens',
    summary: 'Issue tokens (RFC 6749 §3.2)',
    description: 'A confidential client authenticates by Basic or with its secret in the body.',
    input: {
      grant_type: b.oneOf(GRANT_TYPES).describe('The grant (RFC 6749 §4).'),
      code: text.example('ac_Zk3WdV7bN1pQ8mX2cR5t'),
      redirect_uri: text
        .describe('The URI of the authorization request.')
        .example('https://shop.example.com/callback'),
      code_verifier: text
        .describe('Of the authorization code (RFC 7636).')
        .example('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'),
      refresh_token: text,
      device_code: text
        .secret()
        .describe('The code with which a device polls (RFC 8628).')
        .example('Zk3WdV7bN1pQ8mX2cR5tY9aG2xYz01ABfQx0N2mVYq3'),
      assertion: text
        .secret()
        .describe('The JWT of a trusted issuer (RFC 7523 §2.1).')
        .example('eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl'),
      scope: scopes,
      resource,
      ...clientMembers,
    },
    inputExample: {
      grant_type: 'client_credentials',
      scope: 'webhooks:read',
      ...clientExample,
    },
    body: 'optional',
    accepts,
    output: tokenResponse,
    failure: oauthError,
  }),
  authorizeDevice: operation('POST /oauth/device_authorization', {
    id: 'authorize_device',
    summary: 'Request codes for a device without a browser (RFC 8628)',
    description:
      'The person enters `user_code` at `verification_uri`; the device polls `/oauth/token`. ' +
      'An address has at most ten open codes.',
    input: {
      scope: scopes,
      resource,
      ...clientMembers,
    },
    inputExample: clientExample,
    body: 'optional',
    accepts,
    output: deviceCodes,
    errors: ['rate_limited'],
    failure: oauthError,
  }),
  register: operation('POST /oauth/register', {
    id: 'register_client',
    summary: 'Register a client (RFC 7591)',
    description:
      'Only where `GATEHOOK_CLIENT_REGISTRATION` allows it: by a key with the scope ' +
      '`clients:write`, in X-API-Key or as Bearer, or by everyone. Unknown members are ignored. ' +
      'Mistakes are 400 `invalid_redirect_uri` and `invalid_client_metadata`; without a valid ' +
      'key it is 401 `invalid_token`, without the scope 403 `insufficient_scope`.',
    input: {
      client_name: b.text().describe('The name, at most 60 characters.').example('Agent'),
      redirect_uris: texts('At least one.', ['https://app.example.com/callback']),
      grant_types: texts('Default: both.', ['authorization_code', 'refresh_token']).optional(),
      token_endpoint_auth_method: text.describe('Default: `client_secret_basic`.').example('none'),
      ...keyMembers,
      id_token_signed_response_alg: text.describe('Default: `RS256`.').example('ES256'),
    },
    inputExample: { client_name: 'Agent', redirect_uris: ['https://app.example.com/callback'] },
    validates: false,
    output: registeredClient,
    status: 201,
    errors: ['not_found'],
    failure: registrationError,
  }),
  revoke: operation('POST /oauth/revoke', {
    id: 'revoke_token',
    summary: 'Revoke a token of the client (RFC 7009)',
    input: { token, token_type_hint: hint, ...clientMembers },
    inputExample: tokenExample,
    body: 'optional',
    accepts,
    output: b.object({}),
    failure: oauthError,
  }),
  introspect: operation('POST /oauth/introspect', {
    id: 'introspect_token',
    summary: 'Read the state of a token (RFC 7662)',
    description: 'The claims of the service are members as well.',
    input: { token, token_type_hint: hint, ...clientMembers },
    inputExample: tokenExample,
    body: 'optional',
    accepts,
    output: b.openObject({ active: b.bool(), ...introspection }),
    failure: oauthError,
  }),
}

export const consent = b
  .object({
    client_id: b.text().example('client_01jdq8w9vgk7'),
    client_name: b.text().describe('The name of the client.').example('Shop'),
    scope: b.text().describe('Scopes, separated by a space.').example('webhooks:read'),
    created_at: b.time(),
    updated_at: b.time(),
  })
  .named('Consent')

export const consentOperations = {
  list: operation('GET /auth/consents', {
    id: 'list_consents',
    summary: 'List the clients that the person has authorized',
    output: b.page(consent),
  }),
  revoke: operation('DELETE /auth/consents/:client_id', {
    id: 'revoke_consent',
    summary: 'Revoke the consent to a client, and end its sessions',
  }),
}
