import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from 'otpauth'
import { systemRandom } from '../../kernel/random.ts'
import {
  findCodeStep,
  generateRecoveryCodes,
  generateTotpSecret,
  normalizeRecoveryCode,
  totpUri,
} from './totp.ts'

/** The key of RFC 6238, appendix B, as base32; its codes there have eight digits. */
const secret = Secret.fromUTF8('12345678901234567890').base32

test('RFC 6238 appendix B: the last six digits of its test vectors', () => {
  for (const [atS, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
  ] as const) {
    assert.equal(findCodeStep(secret, code, atS * 1000, 0), Math.floor(atS / 30))
  }
})

test('a code is accepted one step before and after, once, and not after a newer one', () => {
  const code = '081804' // of step 37,037,036
  const step = 37_037_036
  const at = (offset: number) => (step + offset) * 30_000
  for (const offset of [-1, 0, 1]) assert.equal(findCodeStep(secret, code, at(offset), 0), step)
  for (const offset of [-2, 2]) assert.equal(findCodeStep(secret, code, at(offset), 0), undefined)
  assert.equal(findCodeStep(secret, code, at(0), step - 1), step)
  assert.equal(findCodeStep(secret, code, at(0), step), undefined)
  for (const bad of ['', '08180', '0818040', ' 81804', '٠٨١٨٠٤', 'x'.repeat(100_000)]) {
    assert.equal(findCodeStep(secret, bad, at(0), 0), undefined)
  }
})

test('secrets and recovery codes have 160 random bits', () => {
  const random = systemRandom()
  const newSecret = generateTotpSecret(random)
  assert.match(newSecret, /^[A-Z2-7]{32}$/)
  assert.match(totpUri(newSecret, 'My API', 'op@example.com'), new RegExp(`secret=${newSecret}`))
  const codes = generateRecoveryCodes(random)
  assert.equal(new Set([...codes, ...generateRecoveryCodes(random)]).size, 20)
  for (const code of codes) assert.equal(normalizeRecoveryCode(code)?.length, 32)
  assert.equal(normalizeRecoveryCode('abcd-efgh-ijkl-mnop'), 'abcdefghijklmnop', 'the shorter form')
  for (const bad of ['', 'abcd', '123456', `${codes[0]}a`])
    assert.equal(normalizeRecoveryCode(bad), undefined)
})
