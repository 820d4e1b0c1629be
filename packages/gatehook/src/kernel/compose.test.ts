/** The composition of text: its forms, and the time of texts that only an attacker writes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { composeText } from './compose.ts'

const CLASSES = ['\u0301', '\u0316', '\u0327', '\u0344', '\u0345', '\u031b', '\u0334', '\u3099']

test('a text with at most 30 successive marks has the form NFC', () => {
  const part = fc.tuple(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 3 }),
    fc.array(fc.constantFrom(...CLASSES), { maxLength: 10 }),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 5 }), (parts) => {
      const text = parts.map(([base, marks]) => base + marks.join('')).join('')
      fc.pre(!/\p{M}{16}/u.test(text)) // U+0344 decomposes into two
      assert.equal(composeText(text), text.normalize('NFC'))
    }),
  )
})

test('the composition of a composed text is that text', () => {
  const unit = fc.constantFrom('a', '\u0130', ...CLASSES)
  fc.assert(
    fc.property(fc.array(unit, { minLength: 28, maxLength: 120 }), (units) => {
      const composed = composeText(units.join(''))
      assert.equal(composeText(composed), composed)
    }),
  )
})

test('no successive marks are more than Unicode sorts at once', () => {
  for (const marks of [CLASSES, CLASSES.toReversed()]) {
    // Each on its own takes seconds without the bound.
    for (const text of [marks.join('').repeat(8_000), marks.map((m) => m.repeat(8_000)).join('')])
      assert.doesNotMatch(composeText(text), /[\p{M}--\u034f]{31}/v)
  }
})

test('only this function composes whole texts', async () => {
  const root = fileURLToPath(new URL('../', import.meta.url))
  const composing: string[] = []
  for await (const file of glob('**/*.ts', { cwd: root })) {
    if (/\.normalize\(|\blocaleCompare\(/.test(readFileSync(root + file, 'utf8')))
      composing.push(file)
  }
  assert.deepEqual(composing.filter((file) => !file.endsWith('.test.ts')).sort(), [
    'kernel/compose.ts',
    'protocol/lists/search-words.ts', // parts of a bounded length, without their marks
  ])
})
