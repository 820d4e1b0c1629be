/** A certified identity provider (`oidc-provider`), and a browser that signs in with it. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import Provider from 'oidc-provider'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import type { Caller, Reply } from '../../../../test/rig/service.ts'

export const PUBLIC_URL = 'http://localhost:8787'
const CLIENT = { id: 'console', secret: 'a secret of the console, long enough' }

export interface IdentityProvider {
  readonly issuer: string
  /** The options of a service whose operators sign in with it. */
  readonly env: Readonly<Record<string, string>>
  /** The account that signs in next, and its groups; tests change them. */
  readonly account: { sub: string; groups: readonly string[] }
  stop(): Promise<void>
}

interface ProviderOptions {
  readonly hasRefreshTokens?: boolean
  /** Whether ID tokens have the groups, besides userinfo. */
  readonly hasGroupsInTokens?: boolean
}

export async function openIdentityProvider(
  t: TestContext,
  { hasRefreshTokens = true, hasGroupsInTokens = false }: ProviderOptions = {},
): Promise<IdentityProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onEnd(t, stop)
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const account: IdentityProvider['account'] = { sub: 'u-1', groups: ['staff', 'platform-admins'] }
  const provider = new Provider(issuer, {
    scopes: ['openid', 'email', 'groups'],
    claims: { openid: ['sub'], email: ['email'], groups: ['groups'] },
    conformIdTokenClaims: !hasGroupsInTokens,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: async () => hasRefreshTokens,
    findAccount: async (_, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, email: `${sub}@example.com`, groups: [...account.groups] }),
    }),
    async loadExistingGrant({ oidc }) {
      const { client, session } = oidc
      const grant = new provider.Grant({
        clientId: client!.clientId,
        accountId: session!.accountId!,
      })
      grant.addOIDCScope('openid email groups')
      await grant.save()
      return grant
    },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${PUBLIC_URL}/console/oidc`],
        grant_types: ['authorization_code', ...(hasRefreshTokens ? ['refresh_token'] : [])],
      },
    ],
  })
  provider.on('server_error', () => undefined)
  const handle = provider.callback()
  server.on('request', (request: IncomingMessage, response) => {
    const isSignIn = request.url!.startsWith('/interaction/')
    if (!isSignIn) return handle(request, response)
    return provider.interactionFinished(request, response, { login: { accountId: account.sub } })
  })
  return {
    issuer,
    account,
    stop,
    env: {
      GATEHOOK_PUBLIC_URL: PUBLIC_URL,
      GATEHOOK_OPERATORS_ISSUER: issuer,
      GATEHOOK_OPERATORS_CLIENT_ID: CLIENT.id,
      GATEHOOK_OPERATORS_CLIENT_SECRET: CLIENT.secret,
      GATEHOOK_OPERATORS_SCOPES: 'openid email groups',
      GATEHOOK_OPERATORS_ROLES: 'platform-admins=admin,help=support,staff=viewer',
    },
  }
}

const HEADERS = { host: 'localhost:8787', 'x-gatehook-console': '1' }

/** A browser with the cookies of the provider and of the console. */
export function openOperatorBrowser(anonymous: Caller) {
  const jar = new Map<string, string>()
  const consoleJar = new Map<string, string>()
  const linesOf = (cookies: Map<string, string>) =>
    [...cookies].map((pair) => pair.join('=')).join('; ')
  const keep = (cookies: Map<string, string>, lines: readonly string[]) => {
    for (const line of lines) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (value === '' || /Max-Age=0|expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(name!)
      else cookies.set(name!, value!)
    }
  }
  const get = async (path: string): Promise<Reply> => {
    const reply = await anonymous.get(path, { ...HEADERS, cookie: linesOf(consoleJar) })
    keep(consoleJar, [reply.headers['set-cookie'] ?? []].flat())
    return reply
  }
  return {
    cookies: consoleJar,
    get,
    /** Opens the sign-in; returns the address of the provider. */
    async begin(query = ''): Promise<URL> {
      const reply = await get(`/console/oidc${query}`)
      assert.equal(reply.status, 303, reply.text)
      return new URL(reply.headers.location!)
    },
    /** Signs in at the provider; returns the path of its redirect to the console. */
    async follow(address: URL): Promise<URL> {
      let next = address
      for (let step = 0; step < 6; step++) {
        const reply = await fetch(next, { redirect: 'manual', headers: { cookie: linesOf(jar) } })
        keep(jar, reply.headers.getSetCookie())
        const location = reply.headers.get('location')
        assert(location, `${reply.status} ${await reply.text()}`)
        next = new URL(location, next)
        if (next.href.startsWith(PUBLIC_URL)) return next
      }
      throw new Error('the provider redirects forever')
    },
    /** Returns the response of the console to the redirect of the provider. */
    finish: (redirect: URL) => get(redirect.pathname + redirect.search),
    async signIn(): Promise<Reply> {
      return this.finish(await this.follow(await this.begin()))
    },
  }
}
