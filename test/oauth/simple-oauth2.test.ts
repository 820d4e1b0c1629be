/** Conformance with `simple-oauth2`, an older client library without discovery. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { AuthorizationCode, ClientCredentials } from 'simple-oauth2'
import { authorizeInBrowser } from './browser.ts'
import { CALLBACK, openOauthServer } from './server.ts'

for (const authorizationMethod of ['header', 'body'] as const) {
  test(`code, refresh, revocation, client credentials by ${authorizationMethod}`, async (t) => {
    const { url, client, credentials } = await openOauthServer(t)
    const config = {
      client: { id: client.client_id, secret: client.client_secret },
      auth: { tokenHost: url.origin, tokenPath: '/oauth/token', revokePath: '/oauth/revoke' },
      options: { authorizationMethod },
    }
    const flow = new AuthorizationCode({
      ...config,
      auth: { ...config.auth, authorizePath: '/oauth/authorize' },
    })
    const code_verifier = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
    const address = flow.authorizeURL({
      redirect_uri: CALLBACK,
      scope: ['orders:read', 'orders:write'],
      state: 'a state',
      code_challenge: createHash('sha256').update(code_verifier).digest('base64url'),
      code_challenge_method: 'S256',
    } as never)
    const back = await authorizeInBrowser(new URL(address), credentials)
    assert.equal(back.searchParams.get('state'), 'a state')
    const code = back.searchParams.get('code')!
    const tokens = await flow.getToken({ code, redirect_uri: CALLBACK, code_verifier } as never)
    assert(!tokens.expired())
    assert.equal(tokens.token.scope, 'orders:read orders:write')
    const next = await tokens.refresh()
    assert.notEqual(next.token.refresh_token, tokens.token.refresh_token)
    await next.revokeAll()
    await assert.rejects(next.refresh())
    const clientTokens = await new ClientCredentials(config).getToken({ scope: 'orders:read' })
    assert.equal(clientTokens.token.token_type, 'Bearer')
  })
}
