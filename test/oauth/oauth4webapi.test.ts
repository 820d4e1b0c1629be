/** Conformance with `oauth4webapi`, which validates all responses and access tokens strictly. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { authorizeInBrowser } from './browser.ts'
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
