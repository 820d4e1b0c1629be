import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { textAfter } from './text-filter.ts'

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

test('textAfter is the least upper bound of all texts with the prefix', () => {
  assert.equal(textAfter('ab'), 'ac')
  assert.equal(textAfter('a\u{10ffff}'), 'b')
  assert.equal(textAfter('\u{10ffff}\u{10ffff}'), undefined)
  assert.equal(textAfter('\ud7ff'), '\ue000')
  const text = fc.string({ unit: 'binary', maxLength: 4 })
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 3 }),
      text,
      (prefix, other) => {
        const end = textAfter(prefix)
        const isInRange = (value: string) =>
          byBytes(value, prefix) >= 0 && (end === undefined || byBytes(value, end) < 0)
        assert.equal(isInRange(prefix + other), true)
        assert.equal(isInRange(other), other.startsWith(prefix))
      },
    ),
  )
})
