import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Secret } from 'otpauth'
import { systemRandom } from '../kernel/random.ts'
import { newRecoveryCodes, newTotpSecret, recoveryText, stepOfCode, totpUri } from './totp.ts'

/** The key of RFC 6238, appendix B, as base32; its codes there have eight digits. */
const secret = Secret.fromUTF8('12345678901234567890').base32

test('RFC 6238 appendix B: the codes of its vectors, last six digits', () => {
  for (const [atS, code] of [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
  ] as const) {
    assert.equal(stepOfCode(secret, code, atS * 1000, 0), Math.floor(atS / 30))
  }
})

test('one step before and after, never twice, never an older one', () => {
  const code = '081804' // of step 37,037,036
  const step = 37_037_036
  const at = (offset: number) => (step + offset) * 30_000
  for (const offset of [-1, 0, 1]) assert.equal(stepOfCode(secret, code, at(offset), 0), step)
  for (const offset of [-2, 2]) assert.equal(stepOfCode(secret, code, at(offset), 0), undefined)
  assert.equal(stepOfCode(secret, code, at(0), step - 1), step)
  assert.equal(stepOfCode(secret, code, at(0), step), undefined)
  for (const bad of ['', '08180', '0818040', ' 81804', '٠٨١٨٠٤', 'x'.repeat(100_000)]) {
    assert.equal(stepOfCode(secret, bad, at(0), 0), undefined)
  }
})

test('secrets and recovery codes have 160 bits; none repeats', () => {
  const random = systemRandom()
  const fresh = newTotpSecret(random)
  assert.match(fresh, /^[A-Z2-7]{32}$/)
  assert.match(totpUri(fresh, 'My API', 'op@example.com'), new RegExp(`secret=${fresh}`))
  const codes = newRecoveryCodes(random)
  assert.equal(new Set([...codes, ...newRecoveryCodes(random)]).size, 20)
  for (const code of codes) assert.equal(recoveryText(code)?.length, 32)
  assert.equal(recoveryText('abcd-efgh-ijkl-mnop'), 'abcdefghijklmnop', 'of the shorter form')
  for (const bad of ['', 'abcd', '123456', `${codes[0]}a`])
    assert.equal(recoveryText(bad), undefined)
})
