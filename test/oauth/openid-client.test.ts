/** Conformance with `openid-client`, configured by discovery alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { documentEnv, openDocumentHost } from '../../packages/gatehook/test/oauth/document-host.ts'
import { allowInBrowser, authorizeInBrowser } from './browser.ts'
import { CALLBACK, LOOPBACK, type OauthServer, openOauthServer } from './server.ts'

/** The metadata of RFC 8414. */
const insecure = {
  algorithm: 'oauth2',
  execute: [oauth.allowInsecureRequests],
} satisfies oauth.DiscoveryRequestOptions

/** Runs an authorization code flow. */
async function runCodeFlow(
  { url, credentials }: OauthServer,
  config: oauth.Configuration,
  redirect_uri: string,
) {
  const pkceCodeVerifier = oauth.randomPKCECodeVerifier()
  const state = oauth.randomState()
  const address = oauth.buildAuthorizationUrl(config, {
    redirect_uri,
    scope: 'orders:read',
    code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state,
  })
  assert.equal(address.origin, url.origin)
  const back = await authorizeInBrowser(address, credentials)
  const checks = { pkceCodeVerifier, expectedState: state }
  return { back, checks, tokens: await oauth.authorizationCodeGrant(config, back, checks) }
}

test('discovery, code, refresh, introspection, revocation', async (t) => {
  const server = await openOauthServer(t)
  const { client_id, client_secret } = server.client
  const config = await oauth.discovery(server.url, client_id, client_secret, undefined, insecure)
  assert(config.serverMetadata().supportsPKCE())
  const { tokens } = await runCodeFlow(server, config, CALLBACK)
  assert.equal(tokens.scope, 'orders:read')
  const api = new URL('/api/v2/protected', server.url)
  const me = await oauth.fetchProtectedResource(config, tokens.access_token, api, 'GET')
  assert.deepEqual(await me.json(), { status: 'ok', user: server.subject })
  const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
  assert.notEqual(next.refresh_token, tokens.refresh_token)
  const introspection = await oauth.tokenIntrospection(config, next.access_token)
  assert.equal(introspection.active, true)
  assert.equal(introspection.sub, server.subject)
  await oauth.tokenRevocation(config, next.refresh_token!)
  const revoked = await oauth.tokenIntrospection(config, next.access_token)
  assert.equal(revoked.active, false)
  await assert.rejects(
    oauth.fetchProtectedResource(config, next.access_token, api, 'GET'),
    oauth.WWWAuthenticateChallengeError,
  )
})

test('OpenID Connect: nonce, max_age, hint, signatures, userinfo', async (t) => {
  const server = await openOauthServer(t)
  const { client_id, client_secret } = server.client
  const execute = [oauth.allowInsecureRequests, oauth.enableNonRepudiationChecks]
  for (const id_token_signed_response_alg of ['RS256', 'ES256']) {
    await server.patchClient(client_id, { id_token_signed_response_alg })
    const metadata = { client_secret, id_token_signed_response_alg }
    const config = await oauth.discovery(server.url, client_id, metadata, undefined, { execute })
    const pkceCodeVerifier = oauth.randomPKCECodeVerifier()
    const expectedNonce = oauth.randomNonce()
    const address = oauth.buildAuthorizationUrl(config, {
      redirect_uri: CALLBACK,
      scope: 'openid profile email',
      code_challenge: await oauth.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
      nonce: expectedNonce,
      max_age: '60',
    })
    const back = await authorizeInBrowser(address, server.credentials)
    const checks = { pkceCodeVerifier, expectedNonce, maxAge: 60 }
    const tokens = await oauth.authorizationCodeGrant(config, back, checks)
    const { sub, email } = tokens.claims()!
    assert.deepEqual([sub, email], [server.subject, server.credentials.username])
    const userinfo = await oauth.fetchUserInfo(config, tokens.access_token, sub)
    assert.deepEqual(userinfo, { sub, name: 'Ada', email, email_verified: true })
    const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
    assert.equal(next.claims()!.sub, sub)
  }
})

test('a device with OpenID Connect', async (t) => {
  const server = await openOauthServer(t)
  const { client_id } = server.device
  const execute = [oauth.allowInsecureRequests, oauth.enableNonRepudiationChecks]
  const config = await oauth.discovery(server.url, client_id, {}, oauth.None(), { execute })
  const codes = await oauth.initiateDeviceAuthorization(config, { scope: 'openid email' })
  const page = await allowInBrowser(new URL(codes.verification_uri_complete!), server.credentials)
  assert.match(page.text, /is connected/)
  const tokens = await oauth.pollDeviceAuthorizationGrant(config, { ...codes, interval: 0 })
  const { sub, aud, email, auth_time, nonce } = tokens.claims()!
  assert.deepEqual([sub, aud, nonce], [server.subject, client_id, undefined])
  assert.equal(email, server.credentials.username)
  assert.equal(typeof auth_time, 'number')
  const userinfo = await oauth.fetchUserInfo(config, tokens.access_token, sub)
  assert.equal(userinfo.email, email)
  const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
  assert.equal(next.claims()!.auth_time, auth_time)
})

test('a public app on a dynamic loopback port', async (t) => {
  const server = await openOauthServer(t)
  const { client_id } = server.app
  const config = await oauth.discovery(server.url, client_id, undefined, oauth.None(), insecure)
  const { tokens } = await runCodeFlow(server, config, LOOPBACK)
  const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
  assert.equal(next.scope, 'orders:read')
})

test('an app that its document describes', async (t) => {
  const host = await openDocumentHost(t)
  const server = await openOauthServer(t, documentEnv)
  const id = host.document({ redirect_uris: ['http://127.0.0.1/callback'] })
  const config = await oauth.discovery(server.url, id, undefined, oauth.None(), insecure)
  assert.equal(config.serverMetadata().client_id_metadata_document_supported, true)
  const { tokens } = await runCodeFlow(server, config, LOOPBACK)
  const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
  assert.equal(next.scope, 'orders:read')
})

test('an app that registers itself, with a secret and without', async (t) => {
  const server = await openOauthServer(t, { GATEHOOK_CLIENT_REGISTRATION: 'open' })
  for (const [method, auth] of [
    ['none', oauth.None()],
    ['client_secret_basic', undefined],
  ] as const) {
    const metadata = {
      client_name: 'Agent',
      redirect_uris: [CALLBACK],
      token_endpoint_auth_method: method,
    }
    const config = await oauth.dynamicClientRegistration(server.url, metadata, auth, insecure)
    const { tokens } = await runCodeFlow(server, config, CALLBACK)
    const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
    assert.equal(next.scope, 'orders:read')
    await oauth.tokenRevocation(config, next.refresh_token!)
    await assert.rejects(oauth.refreshTokenGrant(config, next.refresh_token!))
  }
})

test('client credentials by Basic and by body', async (t) => {
  const { url, client } = await openOauthServer(t)
  const { client_id, client_secret } = client
  for (const method of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
    const auth = method(client_secret)
    const config = await oauth.discovery(url, client_id, client_secret, auth, insecure)
    const tokens = await oauth.clientCredentialsGrant(config, { scope: 'orders:read' })
    assert.equal(tokens.expires_in, 900)
  }
})

test('mix-up: the client rejects a response of another issuer (RFC 9207)', async (t) => {
  const server = await openOauthServer(t)
  const { client_id, client_secret } = server.client
  const config = await oauth.discovery(server.url, client_id, client_secret, undefined, insecure)
  const { back, checks } = await runCodeFlow(server, config, CALLBACK)
  for (const iss of ['https://evil.example', undefined]) {
    const forged = new URL(back)
    if (iss) forged.searchParams.set('iss', iss)
    else forged.searchParams.delete('iss')
    const grant = oauth.authorizationCodeGrant(config, forged, checks)
    await assert.rejects(grant, ({ cause }: Error) => /iss/.test(String(cause)))
  }
})

test('a wrong secret and an invalid scope are errors of the library', async (t) => {
  const server = await openOauthServer(t)
  const { client_id } = server.client
  const config = await oauth.discovery(server.url, client_id, 'gs_wrong', undefined, insecure)
  await assert.rejects(runCodeFlow(server, config, CALLBACK), {
    error: 'invalid_client',
    status: 401,
  })
  await assert.rejects(
    oauth.clientCredentialsGrant(config, { scope: 'nothing' }),
    (error: unknown) => error instanceof oauth.ResponseBodyError,
  )
})
