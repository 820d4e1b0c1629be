/** The format of API keys: generated keys parse, and the checksum catches every single typo. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { generateApiKey, parseApiKey } from './api-key-format.ts'
import { type Random, systemRandom } from './random.ts'

const zeros: Random = { bytes: (length) => Buffer.alloc(length) }

test('a key without randomness ends in the CRC-32 of its body', () => {
  const body = `gk_test_${'0'.repeat(32)}`
  const key = generateApiKey(zeros, 'test')
  assert.equal(key.slice(0, 40), body)
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  const value = [...key.slice(40)].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0)
  assert.equal(value, crc32(body))
})

test('a generated key of either mode parses and contains its mode', () => {
  for (const mode of ['live', 'test'] as const) {
    for (let n = 0; n < 200; n++) {
      const key = generateApiKey(systemRandom(), mode)
      assert.match(key, new RegExp(`^gk_${mode}_[0-9A-Za-z]{38}$`))
      assert.deepEqual(parseApiKey(key), { mode })
    }
  }
})

test('a checksum with leading zeros is padded to six characters', () => {
  let padded = 0
  for (let n = 0; n < 2000; n++) {
    const key = generateApiKey(systemRandom(), 'live')
    assert.equal(key.length, 46)
    if (key[40] === '0') padded++
  }
  assert.ok(padded > 0, 'one key in five has a leading zero')
})

test('a key with a changed, missing or added character or another mode does not parse', () => {
  const key = generateApiKey(systemRandom(), 'live')
  for (let at = 0; at < key.length; at++) {
    const other = key[at] === 'a' ? 'b' : 'a'
    assert.equal(parseApiKey(key.slice(0, at) + other + key.slice(at + 1)), undefined, `at ${at}`)
  }
  assert.equal(parseApiKey(key.replace('live', 'test')), undefined)
  assert.equal(parseApiKey(key.slice(0, -1)), undefined)
  for (const wrong of [`${key}0`, `${key}\n`, ` ${key}`, '', 'gk_live_']) {
    assert.equal(parseApiKey(wrong), undefined)
  }
})
