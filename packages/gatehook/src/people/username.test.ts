import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldName, normalizePassword } from './username.ts'

test('§4.8 sign-in names are equal regardless of case and Unicode composition', () => {
  assert.equal(foldName('Ada@Example.COM'), 'ada@example.com')
  assert.equal(foldName('E\u0301lise@x.org'), '\u00e9lise@x.org')
  assert.notEqual(foldName('ada@example.com'), foldName('ada @example.com'))
  for (const name of ['İstanbul', 'ẞ', 'Ada', 'ﬁ'])
    assert.equal(foldName(foldName(name)), foldName(name))
})

test('a password is equal on any keyboard; case and blanks count', () => {
  assert.equal(normalizePassword('pa:ss:wo\u0308rd'), 'pa:ss:w\u00f6rd')
  for (const password of ['Secret', 'secret', ' secret']) {
    assert.equal(normalizePassword(password), password)
  }
  for (const bad of ['a\0b', 'a\nb', '\ud800', 'x'.repeat(1025), 'ö'.repeat(513)]) {
    assert.equal(normalizePassword(bad), undefined)
  }
})
