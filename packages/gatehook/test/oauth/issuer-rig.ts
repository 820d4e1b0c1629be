/** A trusted issuer with a key, its assertions, and the requests that exchange them. */
import assert from 'node:assert/strict'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { form, type OauthFixture } from './rig.ts'

export const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
export const SERVER = 'https://api.example.com'
export const ISSUER = 'https://ci.example'
export const issuerEnv = { GATEHOOK_PUBLIC_URL: SERVER, GATEHOOK_TEST_CLOCK: '1' }

export async function createIssuerKey(alg = 'RS256', kid = 'one') {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), alg, kid, use: 'sig' } }
}
export type IssuerKey = Awaited<ReturnType<typeof createIssuerKey>>

export const RULE = {
  match: { repository: 'acme/shop' },
  customer: 'default',
  mode: 'live',
  scopes: ['orders:read', 'orders:write'],
}

let count = 0

/** Opens the requests of an administrator and of callers at a stopped clock. */
export async function openIssuerRig(fixture: OauthFixture, rules: readonly object[] = [RULE]) {
  const { admin, anonymous } = fixture
  const key = await createIssuerKey()
  await admin.post('/admin/clock', { advance_s: 0, freeze: true })
  const now = async () => Math.floor(Date.parse((await admin.get('/admin/clock')).body.now) / 1000)
  const create = async (members: object = {}) => {
    const body = { issuer: ISSUER, jwks: { keys: [key.jwk] }, rules, ...members }
    const reply = await admin.post('/admin/issuers', body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  /** Returns an assertion; `undefined` omits a claim. */
  const sign = async (
    claims: Record<string, unknown> = {},
    header: Record<string, unknown> = {},
    signer: IssuerKey = key,
  ) => {
    const at = await now()
    const all = {
      iss: ISSUER,
      sub: 'repo:acme/shop:ref:refs/heads/main',
      aud: SERVER,
      exp: at + 300,
      iat: at,
      jti: `jti ${++count}`,
      repository: 'acme/shop',
      ...claims,
    }
    const { alg, kid } = signer
    return new SignJWT(all).setProtectedHeader({ alg, kid, ...header }).sign(signer.privateKey)
  }
  const exchange = (
    assertion: string,
    fields: Record<string, string | null> = {},
    headers: Record<string, string> = {},
    caller = anonymous,
  ) => form(caller, '/oauth/token', { grant_type: GRANT, assertion, ...fields }, headers)
  const explain = async (id: string, assertion: string) => {
    const reply = await admin.post(`/admin/issuers/${id}/explain`, { assertion })
    assert.equal(reply.status, 200, reply.text)
    const failed = reply.body.checks.filter(({ passed }: { passed: boolean }) => !passed)
    return { ...reply.body, failed: failed.map(({ name }: { name: string }) => name) }
  }
  const advance = (advance_s: number) => admin.post('/admin/clock', { advance_s, freeze: true })
  return { key, now, create, sign, exchange, explain, advance }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
