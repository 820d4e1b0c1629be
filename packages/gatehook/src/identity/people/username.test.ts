import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizePassword } from './username.ts'

test('a password is equal on any keyboard; case and blanks count', () => {
  assert.equal(normalizePassword('pa:ss:wo\u0308rd'), 'pa:ss:w\u00f6rd')
  for (const password of ['Secret', 'secret', ' secret']) {
    assert.equal(normalizePassword(password), password)
  }
  for (const bad of ['a\0b', 'a\nb', '\ud800', 'x'.repeat(1025), 'ö'.repeat(513)]) {
    assert.equal(normalizePassword(bad), undefined)
  }
})
