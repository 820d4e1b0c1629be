/** §12.7: the request log has no value of a secret field, also where its name is misspelled. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { redactBody } from './redaction.ts'

const secretFields = new Set(['pin', 'Code2'])
const white = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\u00a0'), maxLength: 2 })
const spelled = (name: string) =>
  fc
    .tuple(white, fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }), white)
    .map(([before, upper, after]) => {
      const letters = [...name].map((letter, at) => (upper[at] ? letter.toUpperCase() : letter))
      return before + letters.join('') + after
    })

test('no spelling of a secret field by case or white space reveals its value', () => {
  const names = fc.oneof(spelled('pin'), spelled('password'), fc.constant('Code2'))
  fc.assert(
    fc.property(names, (name) => {
      const { value } = redactBody({ list: [{ [name]: 'hidden-value' }], other: 7 }, secretFields)
      assert.ok(!JSON.stringify(value).includes('hidden-value'), JSON.stringify(name))
      assert.equal((value as { other: number }).other, 7)
    }),
  )
})

test('a JSON text as a value is hidden, however often it is encoded', () => {
  let text = JSON.stringify({ password: 'hidden-value' })
  for (let n = 0; n < 4; n++) {
    for (const body of [text, { body: text }, [` \n${text}`]]) {
      const { value } = redactBody(body, secretFields)
      assert.ok(!JSON.stringify(value).includes('hidden-value'), text)
    }
    text = JSON.stringify(text)
  }
  const { value } = redactBody({ title: 'Re: [draft] a note: "x"' }, secretFields)
  assert.deepEqual(value, { title: 'Re: [draft] a note: "x"' })
})

test('a member of another name keeps its value', () => {
  const { value } = redactBody({ pins: 'a', pi: 'b', ' name ': 'c' }, secretFields)
  assert.deepEqual(value, { pins: 'a', pi: 'b', ' name ': 'c' })
})
