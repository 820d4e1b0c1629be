import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesAny, patternsOfType, withoutCovered } from './event-pattern.ts'

test('a type is matched by itself, its families and *', () => {
  assert.deepEqual(patternsOfType('order.paid'), ['order.paid', 'order.*', '*'])
  assert.deepEqual(patternsOfType('a.b.c'), ['a.b.c', 'a.b.*', 'a.*', '*'])
})

test('withoutCovered leaves one pattern for each matched type', () => {
  for (const [patterns, remaining] of [
    [['*', 'order.*', 'order.paid'], ['*']],
    [
      ['order.paid', 'order.*', 'user.created'],
      ['order.*', 'user.created'],
    ],
    [['a.*', 'a.b.*', 'a.b.c'], ['a.*']],
    [
      ['a.b', 'a.b', 'a.c'],
      ['a.b', 'a.c'],
    ],
  ] as const) {
    assert.deepEqual(withoutCovered(patterns), remaining)
    for (const type of ['order.paid', 'a.b', 'a.b.c', 'user.created']) {
      const matching = remaining.filter((pattern) => matchesAny([pattern], type))
      assert.equal(matching.length, matchesAny(patterns, type) ? 1 : 0, `${type} of ${patterns}`)
    }
  }
})
