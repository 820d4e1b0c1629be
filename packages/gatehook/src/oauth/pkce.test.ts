/** S256, and only that (RFC 7636). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { challengeOf, isChallenge } from './pkce.ts'

const proves = (verifier: string, challenge: string) => challengeOf(verifier) === challenge

/** RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

test('the verifier of the RFC proves its challenge', () => {
  assert(isChallenge(CHALLENGE))
  assert(proves(VERIFIER, CHALLENGE))
})

test('another verifier, the challenge itself, and what is no verifier prove nothing', () => {
  assert(!proves(`${VERIFIER.slice(0, -1)}j`, CHALLENGE))
  assert(!proves(CHALLENGE, CHALLENGE))
  for (const text of ['', 'short', `${VERIFIER}=`, `${VERIFIER} `, 'a'.repeat(129)]) {
    assert(!proves(text, CHALLENGE), text)
  }
})

test('a challenge has one spelling', () => {
  const last = CHALLENGE.slice(0, -1)
  // The last character holds four bits: these decode to the same bytes, and are not the same.
  for (const text of [
    `${last}N`,
    `${last}O`,
    `${last}P`,
    `${CHALLENGE}=`,
    '',
    CHALLENGE.slice(1),
  ]) {
    assert(!isChallenge(text), text)
  }
  assert(!isChallenge(VERIFIER.slice(0, 42)))
})
