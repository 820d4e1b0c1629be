import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../kernel/random.ts'
import { Vault } from '../kernel/secret.ts'
import * as tokenText from './refresh-token.ts'

const random = systemRandom()
const keys = new Vault('a master secret of enough characters', random).macKeys('refresh token')
const key = keys.current
const SESSION = 'ses_0VhKq3Zr12345678901234'

test('a token names its session, to who has the key and to nobody else', () => {
  const token = tokenText.newRefreshToken(key, random, SESSION)
  assert.equal(tokenText.sessionOf(keys, token), SESSION)
  assert.notEqual(tokenText.newRefreshToken(key, random, SESSION), token)
  const other = new Vault('another master secret of enough length', random).macKeys('refresh token')
  assert.equal(tokenText.sessionOf(other, token), undefined)
})

test('no other text is a token, nor one with a character changed', () => {
  const token = tokenText.newRefreshToken(key, random, SESSION)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      assert.equal(tokenText.sessionOf(keys, text), undefined)
    }),
  )
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, one) => {
      fc.pre(token[at] !== one)
      const bent = token.slice(0, at) + one + token.slice(at + 1)
      assert.equal(tokenText.sessionOf(keys, bent), undefined)
    }),
  )
})

test('what a token means, by where it stood and when', () => {
  const [oldest, previous, current] = ['a', 'b', 'c'].map(tokenText.hashOf) as [
    Buffer,
    Buffer,
    Buffer,
  ]
  const row = {
    token_hash: current,
    previous_hash: previous,
    rotated_at: 10_000,
    expires_at: 1_000_000,
  }
  const table: [hash: Buffer, now: number, grace: number, expected: tokenText.Verdict][] = [
    [current, 10_000, 0, 'rotate'],
    [current, 999_999, 0, 'rotate'],
    [current, 1_000_000, 0, 'expired'],
    [previous, 1_000_000, 0, 'expired'],
    [previous, 14_999, 0, 'race'],
    [previous, 15_000, 0, 'reuse'],
    [previous, 14_999, 2_000, 'race'],
    [previous, 11_999, 2_000, 'grace'],
    [previous, 39_999, 30_000, 'grace'],
    [previous, 40_000, 30_000, 'reuse'],
    [oldest, 10_000, 60_000, 'reuse'],
  ]
  for (const [hash, now, grace, expected] of table) {
    assert.equal(tokenText.judge(row, hash, now, grace), expected, `${now} ${grace}`)
  }
  const fresh = { ...row, previous_hash: null, rotated_at: null }
  assert.equal(tokenText.judge(fresh, previous, 10_000, 60_000), 'reuse')
})

test('a successor is read with the token it replaces, and with no other', () => {
  const [token, successor] = [1, 2].map(() => tokenText.newRefreshToken(key, random, SESSION)) as [
    string,
    string,
  ]
  const sealed = tokenText.sealSuccessor(token, SESSION, successor, random)
  assert.equal(tokenText.openSuccessor(token, SESSION, sealed, random), successor)
  assert.throws(() => tokenText.openSuccessor(successor, SESSION, sealed, random))
})
