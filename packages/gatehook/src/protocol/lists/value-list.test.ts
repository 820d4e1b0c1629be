/** Reads and writes every list of spec/vectors/value-lists.json, and any other list. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { Failure } from '../../kernel/failure.ts'
import { readValueList, valueListText } from './value-list.ts'

const file = new URL('../../../../../spec/vectors/value-lists.json', import.meta.url)
const { lists, malformed } = JSON.parse(readFileSync(file, 'utf8')) as {
  lists: { values: string[]; text: string }[]
  malformed: string[]
}

const read = (text: string) => readValueList('name[in]', text)
const isRejected = (error: unknown) =>
  error instanceof Failure && error.errors?.[0]?.parameter === 'name[in]'

test('the lists of the vectors have one text each', () => {
  for (const { values, text } of lists) {
    assert.equal(valueListText(values), text)
    assert.deepEqual(read(text), values)
  }
  for (const text of malformed) assert.throws(() => read(text), isRejected, text)
})

test('every list of texts is read as it was written', () => {
  const value = fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[",a ]{0,6}$/))
  const values = fc.array(value, { minLength: 1, maxLength: 100 })
  fc.assert(fc.property(values, (list) => assert.deepEqual(read(valueListText(list)), list)))
})

test('a value may be quoted without need; a list has at most 100 values', () => {
  assert.deepEqual(read('"a",b'), ['a', 'b'])
  assert.equal(read('1,'.repeat(99) + 1).length, 100)
  assert.throws(() => read('1,'.repeat(100) + 1), isRejected)
})
