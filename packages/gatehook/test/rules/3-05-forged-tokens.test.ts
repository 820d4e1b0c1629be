/** §3.5: every way known to make a token that is not ours pass for one; each is refused. */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { TestContext } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/storage/database.ts'
import { type Desk, login, openDesk } from '../tokens/desk.ts'
import { goodClaims, mirrored, ownKey, part, respelled, signed } from '../tokens/forge.ts'

const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })

async function opened(db: Database, t: TestContext) {
  const desk = await openDesk(db, t)
  return { desk, ...(await ownKey(desk)), claims: goodClaims(desk) }
}

async function refused({ ask }: Desk, token: string, why: string) {
  const { status, body, headers } = await ask('GET /api/protected', { bearer: token })
  assert.deepEqual([status, body.error], [401, 'invalid_token'], why)
  assert.equal(headers['www-authenticate'], 'Bearer error="invalid_token"', why)
}

eachMigrated(
  'a token signed by jose with our key is good: the others fail for one reason',
  async (db, t) => {
    const { desk, kid, key, claims } = await opened(db, t)
    const header = { alg: 'ES256', typ: 'at+jwt', kid }
    assert(await desk.works(await signed(key, header, claims)))
  },
)

eachMigrated('alg: none, HMAC with the public key, another curve', async (db, t) => {
  const { desk, kid, key, claims } = await opened(db, t)
  for (const alg of ['none', 'None', 'nOnE', '']) {
    const unsigned = `${part({ alg, typ: 'at+jwt', kid })}.${part(claims)}.`
    await refused(desk, unsigned, `alg ${alg}`)
    await refused(desk, unsigned.slice(0, -1), `alg ${alg}, two parts`)
  }
  const publicKey = createPublicKey(key)
  const forms = [
    publicKey.export({ type: 'spki', format: 'pem' }) as string,
    publicKey.export({ type: 'spki', format: 'der' }).toString('latin1'),
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ]
  for (const form of forms) {
    const secret = Buffer.from(form, 'latin1')
    await refused(
      desk,
      await signed(secret, { alg: 'HS256', typ: 'at+jwt', kid }, claims),
      'HS256 with the public key',
    )
  }
  const good = await signed(key, { alg: 'ES256', typ: 'at+jwt', kid }, claims)
  const [, payload, signature] = good.split('.')
  for (const alg of ['ES384', 'RS256', 'HS256', ['ES256'], null]) {
    await refused(desk, `${part({ alg, typ: 'at+jwt', kid })}.${payload}.${signature}`, `${alg}`)
  }
})

eachMigrated('a foreign key, however the token names or brings it', async (db, t) => {
  const { desk, kid, key, claims } = await opened(db, t)
  const base = { alg: 'ES256', typ: 'at+jwt' }
  const jwk = stranger.publicKey.export({ format: 'jwk' })
  const headers: Record<string, unknown>[] = [
    { ...base, kid },
    base,
    { ...base, kid, jwk },
    { ...base, kid: 'mine', jwk: { ...jwk, kid: 'mine' } },
    { ...base, kid, jku: 'https://evil.example/jwks.json' },
    { ...base, kid, x5u: 'https://evil.example/cert.pem' },
    { ...base, kid, x5c: ['MIIB'] },
  ]
  for (const header of headers) {
    await refused(desk, await signed(stranger.privateKey, header, claims), JSON.stringify(header))
  }
  const named = { ...base, kid, jku: 'https://evil.example/jwks.json', jwk }
  assert(await desk.works(await signed(key, named, claims)), 'ignored where our key signed')
})

eachMigrated('kid: a path, SQL, a prototype, nothing, no text', async (db, t) => {
  const { desk, key, claims } = await opened(db, t)
  const names = [
    ...['/dev/null', '../../../../etc/passwd', "' OR 1=1 --", 'x\0y', '', '__proto__'],
    ...['constructor', 'https://evil.example/k', 'a'.repeat(4000)],
  ]
  for (const kid of [...names, 7, null, ['x'], {}]) {
    const header = { alg: 'ES256', typ: 'at+jwt', kid }
    await refused(desk, await signed(key, header, claims), `kid ${JSON.stringify(kid)}`)
    await refused(desk, await signed(stranger.privateKey, header, claims), 'and a foreign key')
  }
  await refused(desk, await signed(key, { alg: 'ES256', typ: 'at+jwt' }, claims), 'no kid')
})

eachMigrated(
  'typ: an ID token or a bare JWT is no access token; crit is not understood',
  async (db, t) => {
    const { desk, kid, key, claims } = await opened(db, t)
    const header = { alg: 'ES256', kid }
    for (const typ of ['JWT', 'jwt', 'logout+jwt', 'application/at+jwt', 'AT+JWT ', 7, undefined]) {
      await refused(desk, await signed(key, { ...header, typ }, claims), `typ ${typ}`)
    }
    const crit = { ...header, typ: 'at+jwt', crit: ['urn:example'], 'urn:example': true }
    await refused(desk, await signed(key, crit, claims), 'crit')
  },
)

eachMigrated('one token has one text: no second signature, padding or spelling', async (db, t) => {
  const { desk } = await opened(db, t)
  for (let n = 0; n < 8; n++) {
    const { access_token: token } = await desk.tokens.openSession(login)
    assert(await desk.works(token))
    const [header, payload, signature] = token.split('.') as [string, string, string]
    const others: [string, string][] = [
      ['(r, n − s)', mirrored(token)],
      ['spare bits', respelled(token)],
      ['padding', `${token}==`],
      ['padding inside', `${header}=.${payload}.${signature}`],
      ['base64', `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}`],
      ['a dot more', `${token}.`],
      ['a part more', `${token}.${signature}`],
      ['white space', `${header}.${payload}.${signature.slice(0, 40)}%20${signature.slice(40)}`],
      ['cut', token.slice(0, -1)],
      ['DER', `${header}.${payload}.${part(`0E${'x'.repeat(68)}`)}`],
    ]
    for (const [why, other] of others) {
      if (other !== token) await refused(desk, other, why)
    }
  }
})

eachMigrated('a signature of zeros, and any bytes at all', async (db, t) => {
  const { desk, kid, claims } = await opened(db, t)
  const head = part({ alg: 'ES256', typ: 'at+jwt', kid })
  const zeros = Buffer.alloc(64).toString('base64url')
  await refused(desk, `${head}.${part(claims)}.${zeros}`, 'r = s = 0')
  const odd = ['.', '..', '...', 'a.b.c', '{}.{}.{}', `${head}..`, `.${part(claims)}.${zeros}`]
  for (const token of [...odd, 'x'.repeat(12_000), `${part('null')}.${part('[]')}.${zeros}`]) {
    await refused(desk, token, token.slice(0, 40))
  }
})
