/** HMAC-SHA256 equals that of `node:crypto` for each length of key and text. */
import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { macOf } from './mac.ts'

test('a MAC is HMAC-SHA256 (RFC 2104)', () => {
  for (const keyBytes of [1, 31, 32, 63, 64, 65, 200]) {
    const key = createSecretKey(Buffer.alloc(keyBytes, `key ${keyBytes}`))
    // The buffer of a key grows, and shorter texts follow longer ones.
    for (const length of [0, 1, 55, 56, 64, 65, 6000, 3, 119]) {
      const text = 'eyJhZnRlciI6'.repeat(500).slice(0, length)
      const expected = createHmac('sha256', key).update(text, 'latin1').digest('base64url')
      assert.equal(macOf(key, text), expected, `key of ${keyBytes} bytes, text of ${length}`)
    }
  }
})

test('keys do not mix', () => {
  const [first, second] = ['one', 'two'].map((text) => createSecretKey(Buffer.from(text)))
  const mac = macOf(first!, 'text')
  assert.notEqual(macOf(second!, 'text'), mac)
  assert.equal(macOf(first!, 'text'), mac)
})
