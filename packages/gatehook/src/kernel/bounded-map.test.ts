import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BoundedMap } from './bounded-map.ts'

test('a full map evicts the entry that was set longest ago', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2)
  map.get('a')
  map.set('c', 3)
  assert.deepEqual(
    [...map],
    [
      ['b', 2],
      ['c', 3],
    ],
  )
})

test('setting an entry anew makes it the newest', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['c', 4],
    ],
  )
})

test('a value is created once, undefined included', () => {
  const map = new BoundedMap<string, number | undefined>(2)
  let created = 0
  const create = (value: number | undefined) => () => {
    created++
    return value
  }
  assert.equal(map.getOrCreate('a', create(undefined)), undefined)
  assert.equal(map.getOrCreate('a', create(7)), undefined)
  assert.equal(map.getOrCreate('b', create(7)), 7)
  assert.equal(map.getOrCreate('b', create(8)), 7)
  assert.equal(created, 2)
})

test('the map holds the latest entries, at most as many as its bound', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9)), fc.integer({ min: 1, max: 5 }), (keys, maxEntries) => {
      const map = new BoundedMap<number, true>(maxEntries)
      for (const key of keys) map.set(key, true)
      const latestFirst = [...new Set(keys.toReversed())]
      assert.deepEqual([...map.keys()].toReversed(), latestFirst.slice(0, maxEntries))
    }),
  )
})
