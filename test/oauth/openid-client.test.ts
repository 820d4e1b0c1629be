/** `openid-client`, as its documentation says, finds its way by the metadata alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as oauth from 'openid-client'
import { walk } from './browser.ts'
import { CALLBACK, LOOPBACK, openStage, type Stage } from './server.ts'

const insecure = { execute: [oauth.allowInsecureRequests] }

/** An authorization code flow from discovery to tokens. */
async function flow({ url, visitor }: Stage, config: oauth.Configuration, redirect_uri: string) {
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
  const back = await walk(address, visitor)
  const checks = { pkceCodeVerifier, expectedState: state }
  return { back, checks, tokens: await oauth.authorizationCodeGrant(config, back, checks) }
}

for (const algorithm of ['oauth2', 'oidc'] as const) {
  test(`discovery (${algorithm}), code, refresh, introspection, revocation`, async (t) => {
    const stage = await openStage(t)
    const { client_id, client_secret } = stage.client
    const options = { ...insecure, algorithm }
    const config = await oauth.discovery(stage.url, client_id, client_secret, undefined, options)
    assert(config.serverMetadata().supportsPKCE())
    const { tokens } = await flow(stage, config, CALLBACK)
    assert.equal(tokens.scope, 'orders:read')
    const api = new URL('/api/v2/protected', stage.url)
    const me = await oauth.fetchProtectedResource(config, tokens.access_token, api, 'GET')
    assert.deepEqual(await me.json(), { status: 'ok', user: stage.subject })
    const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
    assert.notEqual(next.refresh_token, tokens.refresh_token)
    const facts = await oauth.tokenIntrospection(config, next.access_token)
    assert.equal(facts.active, true)
    assert.equal(facts.sub, stage.subject)
    await oauth.tokenRevocation(config, next.refresh_token!)
    const gone = await oauth.tokenIntrospection(config, next.access_token)
    assert.equal(gone.active, false)
    await assert.rejects(
      oauth.fetchProtectedResource(config, next.access_token, api, 'GET'),
      oauth.WWWAuthenticateChallengeError,
    )
  })
}

test('a public app on a port of the moment', async (t) => {
  const stage = await openStage(t)
  const { client_id } = stage.app
  const config = await oauth.discovery(stage.url, client_id, undefined, oauth.None(), insecure)
  const { tokens } = await flow(stage, config, LOOPBACK)
  const next = await oauth.refreshTokenGrant(config, tokens.refresh_token!)
  assert.equal(next.scope, 'orders:read')
})

test('client credentials by Basic and by body', async (t) => {
  const { url, client } = await openStage(t)
  const { client_id, client_secret } = client
  for (const method of [oauth.ClientSecretBasic, oauth.ClientSecretPost]) {
    const auth = method(client_secret)
    const config = await oauth.discovery(url, client_id, client_secret, auth, insecure)
    const tokens = await oauth.clientCredentialsGrant(config, { scope: 'orders:read' })
    assert.equal(tokens.expires_in, 900)
  }
})

test('mix-up: an answer that names another issuer is not taken (RFC 9207)', async (t) => {
  const stage = await openStage(t)
  const { client_id, client_secret } = stage.client
  const config = await oauth.discovery(stage.url, client_id, client_secret, undefined, insecure)
  const { back, checks } = await flow(stage, config, CALLBACK)
  for (const iss of ['https://evil.example', undefined]) {
    const forged = new URL(back)
    if (iss) forged.searchParams.set('iss', iss)
    else forged.searchParams.delete('iss')
    const taken = oauth.authorizationCodeGrant(config, forged, checks)
    await assert.rejects(taken, ({ cause }: Error) => /iss/.test(String(cause)))
  }
})

test('a refused person and a wrong secret arrive as errors of the library', async (t) => {
  const stage = await openStage(t)
  const { client_id } = stage.client
  const config = await oauth.discovery(stage.url, client_id, 'gs_wrong', undefined, insecure)
  await assert.rejects(flow(stage, config, CALLBACK), { error: 'invalid_client', status: 401 })
  await assert.rejects(
    oauth.clientCredentialsGrant(config, { scope: 'nothing' }),
    (error: unknown) => error instanceof oauth.ResponseBodyError,
  )
})
