/** Assertions of a trusted issuer of Gatehook (§16.8), which count once, and their requests. */
import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto'
import type { BenchRequest } from './load.ts'
import { formRequest, postJson, SCOPE } from './oauth.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LIFETIME_S = 3600
/** The keys of an issuer: ES256, and RS256, which GitHub, GitLab and Kubernetes sign with. */
const KEYS = {
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
}
type Algorithm = keyof typeof KEYS
const jwkOf = (alg: Algorithm) => ({
  ...KEYS[alg].publicKey.export({ format: 'jwk' }),
  kid: alg,
  alg,
})

/** The key that signs ES256, for contenders without issuers. */
export const ASSERTION_KEY = JSON.stringify(jwkOf('ES256'))

const issuers = new Map<string, Promise<string>>()

/** Returns the name of an issuer that Gatehook at `url` trusts; creates it on first use. */
function issuerAt(url: string): Promise<string> {
  const name = `https://${randomUUID()}.example`
  const keys = [jwkOf('ES256'), jwkOf('RS256')]
  const rule = { match: { repository: 'acme/shop' }, customer: 'default', mode: 'live' }
  const rules = [{ ...rule, scopes: [SCOPE] }]
  const issuer =
    issuers.get(url) ??
    postJson(`${url}/admin/issuers`, { issuer: name, jwks: { keys }, rules }).then(() => name)
  issuers.set(url, issuer)
  return issuer
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const optionsOf = (key: KeyObject) => ({ key, dsaEncoding: 'ieee-p1363' as const })

function assertionOf(iss: string, aud: string, alg: Algorithm): string {
  const exp = Math.floor(Date.now() / 1000) + LIFETIME_S
  const claims = { iss, sub: 'repo:acme/shop', aud, exp, jti: randomUUID() }
  const header = encode({ alg, kid: alg, typ: 'JWT' })
  const input = `${header}.${encode({ ...claims, repository: 'acme/shop' })}`
  const signature = sign('sha256', Buffer.from(input), optionsOf(KEYS[alg].privateKey))
  return `${input}.${signature.toString('base64url')}`
}

const assertionRequest = (iss: string, aud: string, alg: Algorithm): BenchRequest =>
  formRequest({ grant_type: GRANT, assertion: assertionOf(iss, aud, alg), scope: SCOPE })

/** Returns requests with new assertions. */
export async function assertionRequests(
  url: string,
  count: number,
  alg: Algorithm = 'ES256',
): Promise<BenchRequest[]> {
  const issuer = await issuerAt(url)
  const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`)
  const { issuer: audience } = (await metadata.json()) as { issuer: string }
  return Array.from({ length: count }, () => assertionRequest(issuer, audience, alg))
}

/** Returns a request with an assertion of ES256 for a contender without issuers. */
export const plainAssertionRequest = (url: string) => assertionRequest('bench', url, 'ES256')
