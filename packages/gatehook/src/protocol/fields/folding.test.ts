import assert from 'node:assert/strict'
import { test } from 'node:test'
import { foldName } from './folding.ts'

test('§4.8 sign-in names are equal regardless of case and Unicode composition', () => {
  assert.equal(foldName('Ada@Example.COM'), 'ada@example.com')
  assert.equal(foldName('E\u0301lise@x.org'), '\u00e9lise@x.org')
  assert.notEqual(foldName('ada@example.com'), foldName('ada @example.com'))
  for (const name of ['İstanbul', 'ẞ', 'Ada', 'ﬁ'])
    assert.equal(foldName(foldName(name)), foldName(name))
})
