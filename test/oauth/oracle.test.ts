/**
 * Attacks the token endpoints of a certified server (`oidc-provider`) and of Gatehook, and compares
 * status and error code. The table gives the reason for each difference.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import Provider from 'oidc-provider'
import { onEnd } from '../rig/cleanup.ts'
import { authorizeInBrowser } from './browser.ts'
import { CALLBACK, openOauthServer } from './server.ts'

const VERIFIER = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** A server under attack, with the confidential client `web` and the public client `app`. */
interface Target {
  readonly token: string
  readonly clients: Readonly<Record<'web' | 'app', { id: string; secret: string }>>
  /** Returns a new code of the client `web`. */
  issueCode(): Promise<string>
}

async function openGatehook(t: TestContext): Promise<Target> {
  const { url, client, app, credentials } = await openOauthServer(t)
  return {
    token: new URL('/oauth/token', url).href,
    clients: {
      web: { id: client.client_id, secret: client.client_secret },
      app: { id: app.client_id, secret: '' },
    },
    async issueCode() {
      const address = new URL('/oauth/authorize', url)
      address.search = String(
        new URLSearchParams({
          response_type: 'code',
          client_id: client.client_id,
          redirect_uri: CALLBACK,
          scope: 'orders:read',
          code_challenge: CHALLENGE,
          code_challenge_method: 'S256',
        }),
      )
      return (await authorizeInBrowser(address, credentials)).searchParams.get('code')!
    },
  }
}

async function openCertified(t: TestContext): Promise<Target> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(t, () => new Promise((resolve) => server.close(resolve)))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const web = { id: 'web', secret: 'a secret of web, long enough' }
  const grants = ['authorization_code', 'refresh_token']
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', 'orders:read'],
    features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    pkce: { required: () => true },
    findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
    clients: [
      {
        client_id: web.id,
        client_secret: web.secret,
        scope: 'orders:read',
        redirect_uris: [CALLBACK],
        grant_types: [...grants, 'client_credentials'],
      },
      {
        client_id: 'app',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: grants,
      },
    ],
  })
  server.on('request', provider.callback())
  return {
    token: `${issuer}/token`,
    clients: { web, app: { id: 'app', secret: '' } },
    async issueCode() {
      const grant = new provider.Grant({ accountId: 'ada', clientId: web.id })
      grant.addOIDCScope('orders:read')
      const grantId = await grant.save()
      const client = await provider.Client.find(web.id)
      return new provider.AuthorizationCode({
        accountId: 'ada',
        grantId,
        client: client!,
        redirectUri: CALLBACK,
        scope: 'orders:read',
        codeChallenge: CHALLENGE,
        codeChallengeMethod: 'S256',
        gty: 'authorization_code',
      } as never).save()
    },
  }
}

const basic = ({ id, secret }: { id: string; secret: string }) => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
})

type Fields = readonly (readonly [string, string])[]

async function requestTokens(target: Target, fields: Fields, headers: Record<string, string> = {}) {
  const body = new URLSearchParams(fields.map(([name, value]) => [name, value]))
  const reply = await fetch(target.token, { method: 'POST', headers, body })
  const { error = 'none' } = (await reply.json()) as { error?: string }
  return `${reply.status} ${error}`
}

const exchange = (code: string, more: Record<string, string | null> = {}): Fields => {
  const all = {
    grant_type: 'authorization_code',
    code,
    redirect_uri: CALLBACK,
    code_verifier: VERIFIER,
    ...more,
  }
  return Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== null)
}

interface Attack {
  readonly name: string
  readonly run: (target: Target) => Promise<string>
  /** The different result of Gatehook, and its reason. */
  readonly difference?: readonly [result: string, reason: string]
}

const exchangeChanged =
  (more: Record<string, string | null>) =>
  async (target: Target): Promise<string> =>
    requestTokens(target, exchange(await target.issueCode(), more), basic(target.clients.web))

const attacks: readonly Attack[] = [
  { name: 'none: a valid exchange', run: exchangeChanged({}) },
  {
    name: 'code replay',
    async run(target) {
      const code = await target.issueCode()
      await requestTokens(target, exchange(code), basic(target.clients.web))
      return requestTokens(target, exchange(code), basic(target.clients.web))
    },
  },
  {
    name: 'tokens of a replayed code',
    async run(target) {
      const fields = exchange(await target.issueCode())
      const headers = basic(target.clients.web)
      const body = new URLSearchParams(fields.map(([name, value]) => [name, value]))
      const first = await fetch(target.token, { method: 'POST', headers, body })
      const { refresh_token = 'none' } = (await first.json()) as { refresh_token?: string }
      await requestTokens(target, fields, headers)
      const refresh = [
        ['grant_type', 'refresh_token'],
        ['refresh_token', refresh_token],
      ] as const
      return requestTokens(target, refresh, headers)
    },
  },
  { name: 'a forged code', run: exchangeChanged({ code: 'made-up' }) },
  { name: 'PKCE: a wrong verifier', run: exchangeChanged({ code_verifier: 'x'.repeat(43) }) },
  { name: 'PKCE: the challenge as verifier', run: exchangeChanged({ code_verifier: CHALLENGE }) },
  { name: 'PKCE: no verifier', run: exchangeChanged({ code_verifier: null }) },
  { name: 'another redirect_uri', run: exchangeChanged({ redirect_uri: `${CALLBACK}/` }) },
  {
    name: 'no redirect_uri',
    run: exchangeChanged({ redirect_uri: null }),
    difference: [
      '400 invalid_request',
      'required if the authorization request had it (RFC 6749 §4.1.3)',
    ],
  },
  { name: 'no code', run: exchangeChanged({ code: null }) },
  { name: 'no grant_type', run: exchangeChanged({ grant_type: null }) },
  { name: 'the password grant', run: exchangeChanged({ grant_type: 'password' }) },
  {
    name: 'a code of another client',
    run: async (target) =>
      requestTokens(
        target,
        exchange(await target.issueCode(), { client_id: target.clients.app.id }),
      ),
  },
  {
    name: 'a confidential client without its secret',
    run: async (target) =>
      requestTokens(
        target,
        exchange(await target.issueCode(), { client_id: target.clients.web.id }),
      ),
  },
  {
    name: 'a wrong secret in the header',
    run: async (target) =>
      requestTokens(target, exchange('x'), basic({ ...target.clients.web, secret: 'wrong' })),
  },
  {
    name: 'an unknown client',
    run: (target) => requestTokens(target, exchange('x'), basic({ id: 'nobody', secret: 'x' })),
  },
  {
    name: 'a secret in header and body',
    run: (target) => {
      const { id, secret } = target.clients.web
      const more = { client_id: id, client_secret: secret }
      return requestTokens(target, exchange('x', more), basic(target.clients.web))
    },
  },
  {
    name: 'two client ids: header and body',
    run: (target) =>
      requestTokens(
        target,
        exchange('x', { client_id: target.clients.app.id }),
        basic(target.clients.web),
      ),
  },
  {
    name: 'a secret for a public client',
    run: (target) =>
      requestTokens(
        target,
        exchange('x', { client_id: target.clients.app.id, client_secret: 'x' }),
      ),
  },
  {
    name: 'no client at all',
    run: (target) => requestTokens(target, exchange('x')),
    difference: ['401 invalid_client', 'no client authentication included (RFC 6749 §5.2)'],
  },
  {
    name: 'a parameter twice',
    run: async (target) =>
      requestTokens(target, [...exchange('x'), ['code', 'y']], basic(target.clients.web)),
  },
  {
    name: 'a scope that the client lacks',
    run: (target) => {
      const fields = [
        ['grant_type', 'client_credentials'],
        ['scope', 'openid'],
      ] as const
      return requestTokens(target, fields, basic(target.clients.web))
    },
  },
  {
    name: 'client credentials of a public client',
    run: (target) => {
      const fields = [
        ['grant_type', 'client_credentials'],
        ['client_id', target.clients.app.id],
      ] as const
      return requestTokens(target, fields)
    },
    difference: ['400 unauthorized_client', 'the client may not use this grant (RFC 6749 §5.2)'],
  },
  {
    name: 'a forged refresh token',
    run: (target) => {
      const fields = [
        ['grant_type', 'refresh_token'],
        ['refresh_token', 'made-up'],
      ] as const
      return requestTokens(target, fields, basic(target.clients.web))
    },
  },
]

test('an attack has the same result as at a certified server', async (t) => {
  const [certified, gatehook] = [await openCertified(t), await openGatehook(t)]
  const results: Record<string, [certified: string, gatehook: string]> = {}
  const expected: typeof results = {}
  for (const attack of attacks) {
    const { name, run, difference } = attack
    const result = await run(certified)
    results[name] = [result, await run(gatehook)]
    if (difference) assert.notEqual(result, difference[0], `${name}: no difference any more`)
    expected[name] = [result, difference?.[0] ?? result]
  }
  assert.deepEqual(results, expected)
})
