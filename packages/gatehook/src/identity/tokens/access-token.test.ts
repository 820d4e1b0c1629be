import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeSigningInput, parseToken, verifySignature } from './access-token.ts'
import { encodeHeader, signToken } from './jws.ts'

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
  kind: 'person',
} as const

const sign = (content: unknown = claims) =>
  signToken(encodeSigningInput(encodeHeader('k1'), content), privateKey)
const verify = (jwt: string) => {
  const token = parseToken(jwt)
  return token && verifySignature(token, publicKey)
}

test('each signed token verifies, with a low or a high s before normalization', () => {
  for (let n = 0; n < 32; n++) assert.deepEqual(verify(sign()), claims)
})

test('a token with a character changed, inserted or removed does not verify', () => {
  const token = sign()
  const mutation = fc.oneof(
    fc
      .tuple(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }))
      .map(([at, character]) => token.slice(0, at) + character + token.slice(at + 1)),
    fc.nat(token.length).map((at) => `${token.slice(0, at)}A${token.slice(at)}`),
    fc.nat(token.length - 1).map((at) => token.slice(0, at) + token.slice(at + 1)),
    fc.string({ unit: 'binary', maxLength: 900 }),
  )
  fc.assert(
    fc.property(mutation, (jwt) => {
      fc.pre(jwt !== token)
      assert.equal(verify(jwt), undefined)
    }),
  )
})

test('a payload without the claims of an access token does not verify', () => {
  const { exp: _exp, ...withoutExp } = claims
  const payloads = [
    withoutExp,
    { ...claims, sub: 7 },
    { ...claims, mode: 'both' },
    { ...claims, kind: 'operator' },
    { ...claims, kind: undefined },
    { ...claims, sid: 1 },
    { ...claims, aud: ['a', 7] },
    { ...claims, exp: '1' },
    [],
    'x',
  ]
  for (const payload of payloads) assert.equal(verify(sign(payload)), undefined)
})
