import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { headerOf, parseToken, provenClaims, signingInput, signToken } from './access-token.ts'
import type { Claims } from './grant.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const claims = {
  iss: 'https://api.example.test',
  sub: '7',
  aud: 'https://api.example.test',
  exp: 1_900_000_900,
  iat: 1_900_000_000,
  jti: 'tok_1',
  client_id: 'gatehook',
  scope: 'things:read',
  customer: 'cus_default',
  mode: 'test',
} as const

const sign = (said: unknown = claims) =>
  signToken(signingInput(said as Claims, headerOf('k1')), privateKey)
const proven = (jwt: string) => {
  const token = parseToken(jwt)
  return token && provenClaims(token, publicKey)
}

test('every token made is taken, whichever half of the curve it fell on', () => {
  for (let n = 0; n < 32; n++) assert.deepEqual(proven(sign()), claims)
})

test('a token with any character changed, added or taken away proves nothing', () => {
  const token = sign()
  const bent = fc.oneof(
    fc
      .tuple(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }))
      .map(([at, one]) => token.slice(0, at) + one + token.slice(at + 1)),
    fc.nat(token.length).map((at) => `${token.slice(0, at)}A${token.slice(at)}`),
    fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
    fc.string({ unit: 'binary', maxLength: 900 }),
  )
  fc.assert(
    fc.property(bent, (jwt) => {
      fc.pre(jwt !== token)
      assert.equal(proven(jwt), undefined)
    }),
  )
})

test('what our key signed and is no access token of ours is not taken for one', () => {
  const { exp: _exp, ...endless } = claims
  const wrong = [endless, { ...claims, sub: 7 }, { ...claims, mode: 'both' }, { ...claims, sid: 1 }]
  for (const each of [...wrong, { ...claims, aud: ['a', 'b'] }, { ...claims, exp: '1' }, [], 'x']) {
    assert.equal(proven(sign(each)), undefined)
  }
})
