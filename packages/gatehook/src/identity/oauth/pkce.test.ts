/** PKCE with `S256` (RFC 7636). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeChallenge, isChallenge } from './pkce.ts'

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

test('the verifier of RFC 7636 appendix B has the challenge given there', () => {
  assert(isChallenge(CHALLENGE))
  assert.equal(computeChallenge(VERIFIER), CHALLENGE)
})

test('another verifier, or the challenge itself, has another challenge', () => {
  for (const verifier of [`${VERIFIER.slice(0, -1)}j`, CHALLENGE]) {
    assert.notEqual(computeChallenge(verifier), CHALLENGE, verifier)
  }
})

test('a malformed verifier has no challenge', () => {
  for (const text of ['', 'short', `${VERIFIER}=`, `${VERIFIER} `, 'a'.repeat(129)]) {
    assert.equal(computeChallenge(text), undefined, text)
  }
})

test('a challenge has one spelling', () => {
  const prefix = CHALLENGE.slice(0, -1)
  // The last character encodes four bits: N, O and P decode to the same bytes as M.
  const malformed = [
    `${prefix}N`,
    `${prefix}O`,
    `${prefix}P`,
    `${CHALLENGE}=`,
    '',
    CHALLENGE.slice(1),
    VERIFIER.slice(0, 42),
  ]
  for (const text of malformed) assert(!isChallenge(text), text)
})
