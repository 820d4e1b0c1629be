/**
 * `oidc-provider` as an OAuth server in memory: JWT access tokens (ES256), PKCE, rotated refresh
 * tokens, no ID token, no pages. `POST /codes?count=` returns codes that its models issue, as its
 * interactions do after consent.
 */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { CALLBACK, CHALLENGE, CLIENT, SCOPE } from '../oauth.ts'

const DAY_S = 86_400
const RESOURCE = 'urn:bench:api'
const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials']

/** Stores rows in a map; the library's own adapter holds a thousand only. */
class Memory implements Adapter {
  readonly #rows = new Map<string, AdapterPayload>()

  async upsert(id: string, payload: AdapterPayload) {
    this.#rows.set(id, payload)
  }
  async find(id: string) {
    return this.#rows.get(id)
  }
  async findByUid() {
    return undefined
  }
  async findByUserCode() {
    return undefined
  }
  async destroy(id: string) {
    this.#rows.delete(id)
  }
  async consume(id: string) {
    this.#rows.get(id)!.consumed = Math.floor(Date.now() / 1000)
  }
  async revokeByGrantId() {}
}

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const server = createServer()
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const provider = new Provider(url, {
  adapter: Memory,
  routes: { token: '/oauth/token' },
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'ES256', use: 'sig', kid: 'k' }] },
  scopes: [SCOPE],
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  issueRefreshToken: async () => true,
  expiresWithSession: async () => false,
  ttl: { AuthorizationCode: DAY_S, RefreshToken: DAY_S, Grant: DAY_S, AccessToken: 900 },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  features: {
    clientCredentials: { enabled: true },
    devInteractions: { enabled: false },
    userinfo: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: async () => RESOURCE,
      useGrantedResource: async () => true,
      getResourceServerInfo: async () => ({
        scope: SCOPE,
        audience: RESOURCE,
        accessTokenTTL: 900,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  clients: [
    {
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      redirect_uris: [CALLBACK],
      scope: SCOPE,
      grant_types: grantTypes,
      id_token_signed_response_alg: 'ES256',
    },
  ],
})

/** Issues codes, each with its own grant. */
async function codes(count: number): Promise<string[]> {
  const client = (await provider.Client.find(CLIENT.id))!
  const issuedCodes: string[] = []
  for (let n = 0; n < count; n++) {
    const accountId = String(n + 1)
    const grant = new provider.Grant({ accountId, clientId: CLIENT.id })
    grant.addResourceScope(RESOURCE, SCOPE)
    const code = new provider.AuthorizationCode({
      accountId,
      client,
      grantId: await grant.save(),
      gty: 'authorization_code',
      redirectUri: CALLBACK,
      resource: RESOURCE,
      scope: SCOPE,
      codeChallenge: CHALLENGE,
      codeChallengeMethod: 'S256',
    })
    issuedCodes.push(await code.save())
  }
  return issuedCodes
}

const serve = provider.callback()
server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
  const { pathname, searchParams } = new URL(request.url!, url)
  if (pathname !== '/codes') return serve(request, response)
  response.end(JSON.stringify(await codes(Number(searchParams.get('count')))))
})
process.once('SIGTERM', () => process.exit(0))
process.stdout.write(`${JSON.stringify({ url })}\n`)
