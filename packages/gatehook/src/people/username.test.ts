import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fold, passwordText } from './username.ts'

test('§4.8 sign-in names are one whatever their case and composition', () => {
  assert.equal(fold('Ada@Example.COM'), 'ada@example.com')
  assert.equal(fold('E\u0301lise@x.org'), fold('\u00e9lise@x.org'))
  assert.notEqual(fold('ada@example.com'), fold('ada @example.com'))
  for (const name of ['İstanbul', 'ẞ', 'Ada', 'ﬁ']) assert.equal(fold(fold(name)), fold(name))
})

test('a password is what is typed, on any keyboard', () => {
  assert.equal(passwordText('pa:ss:wo\u0308rd'), passwordText('pa:ss:w\u00f6rd'))
  assert.notEqual(passwordText('Secret'), passwordText('secret'))
  assert.notEqual(passwordText(' secret'), passwordText('secret'))
  for (const bad of ['a\0b', 'a\nb', '\ud800', 'x'.repeat(1025), 'ö'.repeat(513)]) {
    assert.equal(passwordText(bad), undefined)
  }
})
