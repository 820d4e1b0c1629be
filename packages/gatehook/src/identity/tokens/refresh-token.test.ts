import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { systemRandom } from '../../kernel/random.ts'
import { Vault } from '../../kernel/secret.ts'
import {
  classifyRefreshToken,
  createRefreshToken,
  decryptSuccessor,
  encryptSuccessor,
  hashToken,
  parseSessionId,
  type RefreshTokenVerdict,
} from './refresh-token.ts'

const random = systemRandom()
const keys = new Vault('a master secret of enough characters', random).macKeys('refresh token')
const key = keys.current
const SESSION = 'ses_0VhKq3Zr12345678901234'

test('a token contains its session id, readable with the key only', () => {
  const token = createRefreshToken(key, random, SESSION)
  assert.equal(parseSessionId(keys, token), SESSION)
  assert.notEqual(createRefreshToken(key, random, SESSION), token)
  const otherKeys = new Vault('another master secret of enough length', random).macKeys(
    'refresh token',
  )
  assert.equal(parseSessionId(otherKeys, token), undefined)
})

test('arbitrary text, or a token with a character changed, has no session id', () => {
  const token = createRefreshToken(key, random, SESSION)
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      assert.equal(parseSessionId(keys, text), undefined)
    }),
  )
  const character = fc.string({ minLength: 1, maxLength: 1 })
  fc.assert(
    fc.property(fc.nat(token.length - 1), character, (at, replacement) => {
      fc.pre(token[at] !== replacement)
      const changed = token.slice(0, at) + replacement + token.slice(at + 1)
      assert.equal(parseSessionId(keys, changed), undefined)
    }),
  )
})

/** A session that has rotated once, 9 s after its beginning. */
const rotatedSessionOf = (previous: Buffer, current: Buffer) => ({
  token_hash: current,
  previous_hash: previous,
  created_at: 1_000,
  rotated_at: 10_000,
  expires_at: 1_000_000,
})

test('the position and age of a token determine the verdict', () => {
  const [oldest, previous, current] = ['a', 'b', 'c'].map(hashToken) as [Buffer, Buffer, Buffer]
  const session = rotatedSessionOf(previous, current)
  const table: [hash: Buffer, now: number, grace: number, expected: RefreshTokenVerdict][] = [
    [current, 10_000, 0, 'current'],
    [current, 999_999, 0, 'current'],
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
    const verdict = classifyRefreshToken(session, hash, { nowMs: now, graceMs: grace })
    assert.equal(verdict, expected, `${now} ${grace}`)
  }
  const unrotatedSession = { ...session, previous_hash: null, rotated_at: null }
  const context = { nowMs: 10_000, graceMs: 60_000 }
  assert.equal(classifyRefreshToken(unrotatedSession, previous, context), 'reuse')
})

test('§18.5 data that was restored lacks the tokens of later rotations', () => {
  const [unknown, previous, current] = ['x', 'b', 'c'].map(hashToken) as [Buffer, Buffer, Buffer]
  const rotatedSession = rotatedSessionOf(previous, current)
  const freshSession = { ...rotatedSession, previous_hash: null, rotated_at: null }
  const verdictOf = (
    session: typeof rotatedSession | typeof freshSession,
    restoredMs: number,
    hash: Buffer,
  ) => classifyRefreshToken(session, hash, { nowMs: 90_000, graceMs: 0, restoredMs })
  assert.equal(verdictOf(rotatedSession, 50_000, unknown), 'restored')
  assert.equal(verdictOf(freshSession, 50_000, unknown), 'restored')
  assert.equal(verdictOf(rotatedSession, 50_000, current), 'current')
  // Rotations before the backup, and after the restore, are in the data.
  assert.equal(verdictOf(rotatedSession, 50_000, previous), 'reuse')
  assert.equal(verdictOf(rotatedSession, 9_999, unknown), 'reuse')
  assert.equal(verdictOf(freshSession, 999, unknown), 'reuse')
})

test('only the token that a successor replaces decrypts it', () => {
  const token = createRefreshToken(key, random, SESSION)
  const successor = createRefreshToken(key, random, SESSION)
  const encrypted = encryptSuccessor(token, SESSION, successor, random)
  assert.equal(decryptSuccessor(token, SESSION, encrypted, random), successor)
  assert.throws(() => decryptSuccessor(successor, SESSION, encrypted, random))
})
