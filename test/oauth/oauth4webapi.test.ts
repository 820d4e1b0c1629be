/** Conformance with `oauth4webapi`, which validates all responses and access tokens strictly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import { DEVICE_GRANT } from '../../packages/gatehook/src/identity/oauth/client.ts'
import { allowInBrowser, authorizeInBrowser } from './browser.ts'
import { CALLBACK, openOauthServer } from './server.ts'

const insecure = { [oauth.allowInsecureRequests]: true }

test('code, refresh, client credentials, introspection and revocation conform', async (t) => {
  const { url, client: registration, credentials, subject } = await openOauthServer(t)
  const client: oauth.Client = { client_id: registration.client_id }
  const auth = oauth.ClientSecretBasic(registration.client_secret)
  const discovery = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure })
  const as = await oauth.processDiscoveryResponse(url, discovery)
  const resource = await oauth.resourceDiscoveryRequest(url, insecure)
  const resourceMetadata = await oauth.processResourceDiscoveryResponse(url, resource)
  assert.deepEqual(resourceMetadata.authorization_servers, [as.issuer])

  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(as.authorization_endpoint!)
  for (const [name, value] of Object.entries({
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: CALLBACK,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  })) {
    address.searchParams.set(name, value)
  }
  const back = oauth.validateAuthResponse(
    as,
    client,
    await authorizeInBrowser(address, credentials),
    state,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(
    as,
    client,
    await oauth.authorizationCodeGrantRequest(as, client, auth, back, CALLBACK, verifier, insecure),
  )
  const refreshed = await oauth.processRefreshTokenResponse(
    as,
    client,
    await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token!, {
      ...insecure,
      additionalParameters: { scope: 'orders:read' },
    }),
  )
  assert.equal(refreshed.scope, 'orders:read')
  const clientTokens = await oauth.processClientCredentialsResponse(
    as,
    client,
    await oauth.clientCredentialsGrantRequest(as, client, auth, {}, insecure),
  )
  assert.equal(clientTokens.refresh_token, undefined)

  // A resource server validates signature, typ, iss, aud and exp by the key set (RFC 9068 §4).
  const request = new Request(new URL('/anything', url), {
    headers: { authorization: `Bearer ${refreshed.access_token}` },
  })
  const claims = await oauth.validateJwtAccessToken(as, request, as.issuer, insecure)
  assert.equal(claims.sub, subject)
  assert.equal(claims.client_id, client.client_id)

  const introspection = await oauth.processIntrospectionResponse(
    as,
    client,
    await oauth.introspectionRequest(as, client, auth, clientTokens.access_token, insecure),
  )
  assert.equal(introspection.client_id, client.client_id)
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, auth, clientTokens.access_token, insecure),
  )
})

test('private_key_jwt, a device and the assertion of an issuer conform', async (t) => {
  const { url, create, credentials, subject } = await openOauthServer(t)
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  const keyed = { name: 'Keyed', redirect_uris: [], scopes: ['orders:read'], jwks }
  const grants = [DEVICE_GRANT, 'client_credentials', 'refresh_token']
  const { client_id } = await create('/admin/clients', { ...keyed, grant_types: grants })
  const client: oauth.Client = { client_id }
  const auth = oauth.PrivateKeyJwt({ key: privateKey, kid: 'one' })
  const discovery = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure })
  const as = await oauth.processDiscoveryResponse(url, discovery)
  const own = await oauth.clientCredentialsGrantRequest(as, client, auth, {}, insecure)
  const { access_token } = await oauth.processClientCredentialsResponse(as, client, own)
  const introspection = await oauth.introspectionRequest(as, client, auth, access_token, insecure)
  const { active } = await oauth.processIntrospectionResponse(as, client, introspection)
  assert.equal(active, true)

  const requested = await oauth.deviceAuthorizationRequest(as, client, auth, {}, insecure)
  const codes = await oauth.processDeviceAuthorizationResponse(as, client, requested)
  await allowInBrowser(new URL(codes.verification_uri_complete!), credentials)
  const { device_code } = codes
  const polled = await oauth.deviceCodeGrantRequest(as, client, auth, device_code, insecure)
  const connected = await oauth.processDeviceCodeResponse(as, client, polled)
  assert.equal(decodeJwt(connected.access_token).sub, subject)
  const next = await oauth.refreshTokenGrantRequest(
    as,
    client,
    auth,
    connected.refresh_token!,
    insecure,
  )
  await oauth.processRefreshTokenResponse(as, client, next)

  const issuer = 'https://ci.example'
  const rule = { match: { repository: 'acme/shop' }, customer: 'default', mode: 'live' }
  const rules = [{ ...rule, scopes: ['orders:read'] }]
  await create('/admin/issuers', { issuer, jwks, rules })
  const assertion = await new SignJWT({ repository: 'acme/shop' })
    .setProtectedHeader({ alg: 'ES256', kid: 'one' })
    .setIssuer(issuer)
    .setSubject('repo:acme/shop')
    .setAudience(as.issuer)
    .setJti('one')
    .setExpirationTime('5 minutes')
    .sign(privateKey)
  const workload = await oauth.genericTokenEndpointRequest(
    as,
    client,
    () => undefined,
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    { assertion },
    insecure,
  )
  const tokens = await oauth.processGenericTokenEndpointResponse(as, client, workload)
  assert.equal(decodeJwt(tokens.access_token).sub, `${issuer}|repo:acme/shop`)
})
