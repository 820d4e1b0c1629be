import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { requestedWords, WORD_MAX_CHARACTERS, wordsOf } from './search-words.ts'

const words = (text: string) => [...wordsOf(text)]

test('words have no case, accents, signs and operators', () => {
  assert.deepEqual(words("Åse O'Brien-Smith, ÅSE"), ['ase', 'o', 'brien', 'smith'])
  assert.deepEqual(words('a@b.de "x" AND (y*) 😀 %_\\'), ['a', 'b', 'de', 'x', 'and', 'y', '😀'])
  assert.deepEqual(words('ﬁve ４２ e\u0301t\u00e9 ½'), ['five', '42', 'ete', '1', '2'])
  assert.deepEqual(words(' -- \u0301'), [])
  assert.deepEqual(words('a b c '.repeat(9)).length, 3)
})

test('a word has a bounded length, and no half of a character', () => {
  assert.deepEqual(words('x'.repeat(99)), ['x'.repeat(WORD_MAX_CHARACTERS)])
  const [word] = words('𝒜'.repeat(99))
  assert.equal(word, 'a'.repeat(32))
  assert.equal(words(`a${'𠀀'.repeat(99)}`)[0]!.isWellFormed(), true)
})

test('a request has no word with which another one begins', () => {
  assert.deepEqual(requestedWords('an anna bo An'), ['anna', 'bo'])
  assert.deepEqual(requestedWords('!?'), [])
})

test('an ASCII text has the same words alone and beside other letters', () => {
  const ascii = fc.string({ unit: 'binary-ascii', maxLength: 400 })
  fc.assert(
    fc.property(ascii, (text) => {
      const beside = [...wordsOf(`${text} \u00e9\u00e9\u00e9`)].sort()
      assert.deepEqual([...new Set([...wordsOf(text), 'eee'])].sort(), beside)
    }),
    { numRuns: 500 },
  )
})
