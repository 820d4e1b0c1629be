/** Assertions of a trusted issuer of Gatehook (§16.8), which count once, and their requests. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { BenchRequest } from './load.ts'
import { formRequest, postJson, SCOPE } from './oauth.ts'

const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LIFETIME_S = 3600
const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const issuers = new Map<string, Promise<string>>()

/** Returns the name of an issuer that Gatehook at `url` trusts; creates it on first use. */
function issuerAt(url: string): Promise<string> {
  const name = `https://${randomUUID()}.example`
  const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'ES256' }]
  const rule = { match: { repository: 'acme/shop' }, customer: 'default', mode: 'live' }
  const rules = [{ ...rule, scopes: [SCOPE] }]
  const issuer =
    issuers.get(url) ??
    postJson(`${url}/admin/issuers`, { issuer: name, jwks: { keys }, rules }).then(() => name)
  issuers.set(url, issuer)
  return issuer
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = encode({ alg: 'ES256', kid: 'bench', typ: 'JWT' })

function assertionOf(iss: string, aud: string): string {
  const exp = Math.floor(Date.now() / 1000) + LIFETIME_S
  const claims = { iss, sub: 'repo:acme/shop', aud, exp, jti: randomUUID() }
  const input = `${HEADER}.${encode({ ...claims, repository: 'acme/shop' })}`
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' as const }
  return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
}

/** Returns requests with new assertions. */
export async function assertionRequests(url: string, count: number): Promise<BenchRequest[]> {
  const issuer = await issuerAt(url)
  const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`)
  const { issuer: audience } = (await metadata.json()) as { issuer: string }
  return Array.from({ length: count }, () =>
    formRequest({ grant_type: GRANT, assertion: assertionOf(issuer, audience), scope: SCOPE }),
  )
}
