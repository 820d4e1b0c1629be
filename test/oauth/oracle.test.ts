/**
 * The same attack on the token endpoint of a certified server (`oidc-provider`) and on ours: the
 * same error, by name and status. Where we answer otherwise, the table says why.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import Provider from 'oidc-provider'
import { walk } from './browser.ts'
import { CALLBACK, openStage } from './server.ts'

const VERIFIER = 'a-verifier-that-is-long-enough-for-the-rule-of-43'
const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

/** A server under attack: its clients are `web` (with a secret) and `app` (public). */
interface Target {
  readonly token: string
  readonly clients: Readonly<Record<'web' | 'app', { id: string; secret: string }>>
  /** A fresh code of the client `web`. */
  code(): Promise<string>
}

async function ours(t: TestContext): Promise<Target> {
  const { url, client, app, visitor } = await openStage(t)
  return {
    token: new URL('/oauth/token', url).href,
    clients: {
      web: { id: client.client_id, secret: client.client_secret },
      app: { id: app.client_id, secret: '' },
    },
    async code() {
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
      return (await walk(address, visitor)).searchParams.get('code')!
    },
  }
}

async function oracle(t: TestContext): Promise<Target> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => new Promise((resolve) => server.close(resolve)))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const web = { id: 'web', secret: 'a secret of web long enough for anybody' }
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
    async code() {
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

async function ask(target: Target, fields: Fields, headers: Record<string, string> = {}) {
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
  readonly answer: (target: Target) => Promise<string>
  /** Where ours differs, and why. */
  readonly ours?: readonly [answer: string, why: string]
}

const changed =
  (more: Record<string, string | null>) =>
  async (target: Target): Promise<string> =>
    ask(target, exchange(await target.code(), more), basic(target.clients.web))

const attacks: readonly Attack[] = [
  { name: 'none: the exchange itself', answer: changed({}) },
  {
    name: 'code replay',
    async answer(target) {
      const code = await target.code()
      await ask(target, exchange(code), basic(target.clients.web))
      return ask(target, exchange(code), basic(target.clients.web))
    },
  },
  {
    name: 'tokens of a replayed code',
    async answer(target) {
      const fields = exchange(await target.code())
      const headers = basic(target.clients.web)
      const body = new URLSearchParams(fields.map(([name, value]) => [name, value]))
      const first = await fetch(target.token, { method: 'POST', headers, body })
      const { refresh_token = 'none' } = (await first.json()) as { refresh_token?: string }
      await ask(target, fields, headers)
      const again = [
        ['grant_type', 'refresh_token'],
        ['refresh_token', refresh_token],
      ] as const
      return ask(target, again, headers)
    },
  },
  { name: 'a code nobody gave', answer: changed({ code: 'made-up' }) },
  { name: 'PKCE: a wrong verifier', answer: changed({ code_verifier: 'x'.repeat(43) }) },
  { name: 'PKCE: the challenge as verifier', answer: changed({ code_verifier: CHALLENGE }) },
  { name: 'PKCE: no verifier', answer: changed({ code_verifier: null }) },
  { name: 'another redirect_uri', answer: changed({ redirect_uri: `${CALLBACK}/` }) },
  {
    name: 'no redirect_uri',
    answer: changed({ redirect_uri: null }),
    ours: ['400 invalid_request', 'required, as the authorization request had it (§4.1.3)'],
  },
  { name: 'no code', answer: changed({ code: null }) },
  { name: 'no grant_type', answer: changed({ grant_type: null }) },
  { name: 'the password grant', answer: changed({ grant_type: 'password' }) },
  {
    name: 'a code of another client',
    answer: async (target) =>
      ask(target, exchange(await target.code(), { client_id: target.clients.app.id })),
  },
  {
    name: 'a confidential client without its secret',
    answer: async (target) =>
      ask(target, exchange(await target.code(), { client_id: target.clients.web.id })),
  },
  {
    name: 'a wrong secret in the header',
    answer: async (target) =>
      ask(target, exchange('x'), basic({ ...target.clients.web, secret: 'wrong' })),
  },
  {
    name: 'an unknown client',
    answer: (target) => ask(target, exchange('x'), basic({ id: 'nobody', secret: 'x' })),
  },
  {
    name: 'a secret in header and body',
    answer: (target) => {
      const { id, secret } = target.clients.web
      const more = { client_id: id, client_secret: secret }
      return ask(target, exchange('x', more), basic(target.clients.web))
    },
  },
  {
    name: 'two names: header and body',
    answer: (target) =>
      ask(target, exchange('x', { client_id: target.clients.app.id }), basic(target.clients.web)),
  },
  {
    name: 'a secret for a public client',
    answer: (target) =>
      ask(target, exchange('x', { client_id: target.clients.app.id, client_secret: 'x' })),
  },
  {
    name: 'no client at all',
    answer: (target) => ask(target, exchange('x')),
    ours: ['401 invalid_client', 'no client authentication included (RFC 6749 §5.2)'],
  },
  {
    name: 'a parameter twice',
    answer: async (target) =>
      ask(target, [...exchange('x'), ['code', 'y']], basic(target.clients.web)),
  },
  {
    name: 'a scope the client has not',
    answer: (target) => {
      const fields = [
        ['grant_type', 'client_credentials'],
        ['scope', 'openid'],
      ] as const
      return ask(target, fields, basic(target.clients.web))
    },
  },
  {
    name: 'a public client with a token of its own',
    answer: (target) => {
      const fields = [
        ['grant_type', 'client_credentials'],
        ['client_id', target.clients.app.id],
      ] as const
      return ask(target, fields)
    },
    ours: ['400 unauthorized_client', 'the client may not use this grant (RFC 6749 §5.2)'],
  },
  {
    name: 'a refresh token nobody gave',
    answer: (target) => {
      const fields = [
        ['grant_type', 'refresh_token'],
        ['refresh_token', 'made-up'],
      ] as const
      return ask(target, fields, basic(target.clients.web))
    },
  },
]

test('the same attack gets the same answer as from a certified server', async (t) => {
  const [certified, gatehook] = [await oracle(t), await ours(t)]
  const answers: Record<string, [certified: string, ours: string]> = {}
  const expected: typeof answers = {}
  for (const attack of attacks) {
    const said = await attack.answer(certified)
    answers[attack.name] = [said, await attack.answer(gatehook)]
    if (attack.ours) assert.notEqual(said, attack.ours[0], `${attack.name}: no departure any more`)
    expected[attack.name] = [said, attack.ours?.[0] ?? said]
  }
  assert.deepEqual(answers, expected)
})
