/** `oauth4webapi`: the strictest reader of answers there is, and a resource server of its own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { walk } from './browser.ts'
import { CALLBACK, openStage } from './server.ts'

const insecure = { [oauth.allowInsecureRequests]: true }

test('code, refresh, client credentials, introspection and revocation conform', async (t) => {
  const { url, client: made, visitor, subject } = await openStage(t)
  const client: oauth.Client = { client_id: made.client_id }
  const auth = oauth.ClientSecretBasic(made.client_secret)
  const found = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure })
  const as = await oauth.processDiscoveryResponse(url, found)
  const resource = await oauth.resourceDiscoveryRequest(url, insecure)
  const described = await oauth.processResourceDiscoveryResponse(url, resource)
  assert.deepEqual(described.authorization_servers, [as.issuer])

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
  const back = oauth.validateAuthResponse(as, client, await walk(address, visitor), state)
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
  const own = await oauth.processClientCredentialsResponse(
    as,
    client,
    await oauth.clientCredentialsGrantRequest(as, client, auth, {}, insecure),
  )
  assert.equal(own.refresh_token, undefined)

  // A resource server that trusts our key set alone: signature, typ, iss, aud, exp (RFC 9068).
  const request = new Request(new URL('/anything', url), {
    headers: { authorization: `Bearer ${refreshed.access_token}` },
  })
  const claims = await oauth.validateJwtAccessToken(as, request, as.issuer, insecure)
  assert.equal(claims.sub, subject)
  assert.equal(claims.client_id, client.client_id)

  const facts = await oauth.processIntrospectionResponse(
    as,
    client,
    await oauth.introspectionRequest(as, client, auth, own.access_token, insecure),
  )
  assert.equal(facts.client_id, client.client_id)
  await oauth.processRevocationResponse(
    await oauth.revocationRequest(as, client, auth, own.access_token, insecure),
  )
})
