import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createJsonCursor, itemTexts, memberTexts } from './json-text.ts'

test('the texts of the members of an object are those of its values', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
      const parsed = JSON.parse(JSON.stringify(object)) as object
      const texts = memberTexts(JSON.stringify(object, null, indent))
      const values = Array.from(texts, ([name, text]) => [name, JSON.parse(text)])
      assert.deepEqual(Object.fromEntries(values), parsed)
      const list = JSON.stringify(Object.values(parsed), null, indent)
      assert.deepEqual(
        itemTexts(list).map((text) => JSON.parse(text)),
        Object.values(parsed),
      )
    }),
  )
  const texts = memberTexts('{ "a" : 1.0 , "b":{"a":[2]},"a":1e400,"\\u0063":"]}," }')
  assert.deepEqual(
    [...texts],
    [
      ['a', '1e400'],
      ['b', '{"a":[2]}'],
      ['c', '"]},"'],
    ],
  )
  assert.equal(memberTexts(' {} ').size, 0)
  assert.deepEqual(itemTexts(' [ ] '), [])
})

test('a part is read, or skipped', () => {
  const cursor = createJsonCursor(' {"a":{"b":[1, {"c":"]\\""}]},"d":[ {"e":2} , 3],"f":4} ')
  const names: (string | undefined)[] = []
  for (const name of cursor.parts()) {
    names.push(name)
    if (name === 'a') continue
    for (const item of cursor.parts()) names.push(item, ...cursor.parts())
  }
  assert.deepEqual(names, ['a', 'd', undefined, 'e', undefined, 'f'])
})

test('a reader ends in any text', () => {
  const shards = fc.constantFrom('{', '}', '[', ']', '"', ',', ':', 'a', '1', '-', 'e', ' ')
  fc.assert(
    fc.property(fc.array(shards), (parts) => {
      void memberTexts(parts.join(''))
      void itemTexts(`[${parts.join('')}`)
    }),
  )
})
