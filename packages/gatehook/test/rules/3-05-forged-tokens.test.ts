/** §3.5: every known way to forge an access token is rejected. */
import assert from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import type { TestContext } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import {
  encodePart,
  mirrorSignature,
  readSigningKey,
  respell,
  signClaims,
  validClaims,
} from '../tokens/forge.ts'
import { login, openTokenNode, type TokenNode } from '../tokens/token-node.ts'

const foreignKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

async function openWithKey(db: Database, t: TestContext) {
  const node = await openTokenNode(db, t)
  return { node, ...(await readSigningKey(node)), claims: validClaims(node) }
}

async function assertRejected({ send }: TokenNode, token: string, reason: string) {
  const { status, body, headers } = await send('GET /api/protected', { bearer: token })
  assert.deepEqual([status, body.error], [401, 'invalid_token'], reason)
  assert.match(String(headers['www-authenticate']), /^Bearer error="invalid_token", /, reason)
}

eachMigrated('a token that jose signs with the server’s key is valid', async (db, t) => {
  const { node, kid, key, claims } = await openWithKey(db, t)
  const header = { alg: 'ES256', typ: 'at+jwt', kid }
  assert(await node.isAccepted(await signClaims(key, header, claims)))
})

eachMigrated('alg: none, HMAC with the public key, another curve', async (db, t) => {
  const { node, kid, key, claims } = await openWithKey(db, t)
  for (const alg of ['none', 'None', 'nOnE', '']) {
    const unsigned = `${encodePart({ alg, typ: 'at+jwt', kid })}.${encodePart(claims)}.`
    await assertRejected(node, unsigned, `alg ${alg}`)
    await assertRejected(node, unsigned.slice(0, -1), `alg ${alg}, two parts`)
  }
  const publicKey = createPublicKey(key)
  const encodings = [
    publicKey.export({ type: 'spki', format: 'pem' }) as string,
    publicKey.export({ type: 'spki', format: 'der' }).toString('latin1'),
    JSON.stringify(publicKey.export({ format: 'jwk' })),
  ]
  for (const encoding of encodings) {
    const secret = Buffer.from(encoding, 'latin1')
    await assertRejected(
      node,
      await signClaims(secret, { alg: 'HS256', typ: 'at+jwt', kid }, claims),
      'HS256 with the public key',
    )
  }
  const valid = await signClaims(key, { alg: 'ES256', typ: 'at+jwt', kid }, claims)
  const [, payload, signature] = valid.split('.')
  for (const alg of ['ES384', 'RS256', 'HS256', ['ES256'], null]) {
    await assertRejected(
      node,
      `${encodePart({ alg, typ: 'at+jwt', kid })}.${payload}.${signature}`,
      `${alg}`,
    )
  }
})

eachMigrated(
  'a foreign key is rejected, also where the header names or contains it',
  async (db, t) => {
    const { node, kid, key, claims } = await openWithKey(db, t)
    const base = { alg: 'ES256', typ: 'at+jwt' }
    const jwk = foreignKeys.publicKey.export({ format: 'jwk' })
    const headers: Record<string, unknown>[] = [
      { ...base, kid },
      base,
      { ...base, kid, jwk },
      { ...base, kid: 'own', jwk: { ...jwk, kid: 'own' } },
      { ...base, kid, jku: 'https://evil.example/jwks.json' },
      { ...base, kid, x5u: 'https://evil.example/cert.pem' },
      { ...base, kid, x5c: ['MIIB'] },
    ]
    for (const header of headers) {
      await assertRejected(
        node,
        await signClaims(foreignKeys.privateKey, header, claims),
        JSON.stringify(header),
      )
    }
    const ownHeader = { ...base, kid, jku: 'https://evil.example/jwks.json', jwk }
    assert(
      await node.isAccepted(await signClaims(key, ownHeader, claims)),
      'the server ignores jku and jwk',
    )
  },
)

eachMigrated('kid: a path, SQL, a prototype, a missing one, other types', async (db, t) => {
  const { node, key, claims } = await openWithKey(db, t)
  const names = [
    '/dev/null',
    '../../../../etc/passwd',
    "' OR 1=1 --",
    'x\0y',
    '',
    '__proto__',
    'constructor',
    'https://evil.example/k',
    'a'.repeat(4000),
  ]
  for (const kid of [...names, 7, null, ['x'], {}]) {
    const header = { alg: 'ES256', typ: 'at+jwt', kid }
    await assertRejected(node, await signClaims(key, header, claims), `kid ${JSON.stringify(kid)}`)
    await assertRejected(
      node,
      await signClaims(foreignKeys.privateKey, header, claims),
      'and a foreign key',
    )
  }
  await assertRejected(
    node,
    await signClaims(key, { alg: 'ES256', typ: 'at+jwt' }, claims),
    'no kid',
  )
})

eachMigrated('typ: only at+jwt is accepted; crit is rejected', async (db, t) => {
  const { node, kid, key, claims } = await openWithKey(db, t)
  const header = { alg: 'ES256', kid }
  for (const typ of ['JWT', 'jwt', 'logout+jwt', 'application/at+jwt', 'AT+JWT ', 7, undefined]) {
    await assertRejected(node, await signClaims(key, { ...header, typ }, claims), `typ ${typ}`)
  }
  const crit = { ...header, typ: 'at+jwt', crit: ['urn:example'], 'urn:example': true }
  await assertRejected(node, await signClaims(key, crit, claims), 'crit')
})

eachMigrated(
  'a token has one encoding: no second signature, padding or spelling',
  async (db, t) => {
    const { node } = await openWithKey(db, t)
    for (let n = 0; n < 8; n++) {
      const { access_token: token } = await node.tokens.openSession(login)
      assert(await node.isAccepted(token))
      const [header, payload, signature] = token.split('.') as [string, string, string]
      const others: [string, string][] = [
        ['(r, n − s)', mirrorSignature(token)],
        ['spare bits', respell(token)],
        ['padding', `${token}==`],
        ['padding inside', `${header}=.${payload}.${signature}`],
        ['base64', `${header}.${payload}.${signature.replaceAll('-', '+').replaceAll('_', '/')}`],
        ['an extra dot', `${token}.`],
        ['an extra part', `${token}.${signature}`],
        ['white space', `${header}.${payload}.${signature.slice(0, 40)}%20${signature.slice(40)}`],
        ['truncated', token.slice(0, -1)],
        ['DER', `${header}.${payload}.${encodePart(`0E${'x'.repeat(68)}`)}`],
      ]
      for (const [reason, other] of others) {
        if (other !== token) await assertRejected(node, other, reason)
      }
    }
  },
)

eachMigrated('a signature of zeros and malformed tokens are rejected', async (db, t) => {
  const { node, kid, claims } = await openWithKey(db, t)
  const head = encodePart({ alg: 'ES256', typ: 'at+jwt', kid })
  const zeros = Buffer.alloc(64).toString('base64url')
  await assertRejected(node, `${head}.${encodePart(claims)}.${zeros}`, 'r = s = 0')
  const malformed = [
    '.',
    '..',
    '...',
    'a.b.c',
    '{}.{}.{}',
    `${head}..`,
    `.${encodePart(claims)}.${zeros}`,
  ]
  for (const token of [
    ...malformed,
    'x'.repeat(12_000),
    `${encodePart('null')}.${encodePart('[]')}.${zeros}`,
  ]) {
    await assertRejected(node, token, token.slice(0, 40))
  }
})
