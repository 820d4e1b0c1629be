import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlaces } from './places.ts'

test('groups that take all they get leave places for others', () => {
  const enter = createPlaces({ total: 256, ofGroup: 64 })
  const takeAll = (group: string): (() => void)[] => {
    const leave = enter(group)
    return leave ? [leave, ...takeAll(group)] : []
  }
  const taken = ['a', 'b', 'c', 'd', 'e', 'f'].map(takeAll)
  assert.deepEqual(
    taken.map(({ length }) => length),
    [64, 64, 64, 32, 16, 8],
  )
  for (const leave of taken.flat()) leave()
  assert.equal(takeAll('g').length, 64)
})
