import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { printable, printableLines, printableValue } from './printable.ts'

/** By the properties of Unicode, to which the escaper adds the separators of lines. */
const HOSTILE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u

const hostile = fc.constantFrom(
  ...['\u0000', '\b', '\n', '\r', '\u001b[2J', '\u007f', '\u009b31m', '\u061c', '\u200e', '\u200f'],
  ...[
    '\u2028',
    '\u2029',
    '\u202a',
    '\u202e',
    '\u2066',
    '\u2069',
    '\u001b]0;title\u0007',
    '\\u001b',
  ],
)
const text = fc
  .array(fc.oneof(hostile, fc.string({ unit: 'binary' })))
  .map((parts) => parts.join(''))

test('printed text has no control and no bidirectional character', () => {
  fc.assert(
    fc.property(text, (value) => {
      assert.doesNotMatch(printable(value), HOSTILE)
      assert.doesNotMatch(printableLines(value).replaceAll('\n', ''), HOSTILE)
      assert.equal(printable(printable(value)), printable(value))
    }),
  )
})

test('text without such characters is unchanged', () => {
  for (const plain of ['', 'Zoë 🙂 日本語 {"a":1} \\n', 'a\u00a0b'])
    assert.equal(printable(plain), plain)
  assert.equal(printableLines('a\nb'), 'a\nb')
  assert.equal(printable('a\nb\u001b'), 'a\\u000ab\\u001b')
})

test('JSON text keeps its value', () => {
  fc.assert(
    fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text))), (value) => {
      const json = JSON.stringify(value)
      assert.deepEqual(JSON.parse(printableLines(json)), JSON.parse(json))
      assert.doesNotMatch(JSON.stringify(printableValue(value)), HOSTILE)
    }),
  )
})
