import assert from 'node:assert/strict'
import { test } from 'node:test'
import { topicsOf, withoutCovered } from './topics.ts'

test('a type is asked for by itself, by its families, by *', () => {
  assert.deepEqual(topicsOf('order.paid'), ['order.paid', 'order.*', '*'])
  assert.deepEqual(topicsOf('a.b.c'), ['a.b.c', 'a.b.*', 'a.*', '*'])
})

test('no type is found twice for one registration', () => {
  for (const [asked, kept] of [
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
    assert.deepEqual(withoutCovered(asked), kept)
    for (const type of ['order.paid', 'a.b', 'a.b.c', 'user.created']) {
      const hits = topicsOf(type).filter((topic) => withoutCovered(asked).includes(topic)).length
      const wanted = topicsOf(type).some((topic) => (asked as readonly string[]).includes(topic))
      assert.equal(hits, wanted ? 1 : 0, `${type} of ${asked}`)
    }
  }
})
