import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRecentItems } from './recent-items.ts'

test('the newest items remain, up to a number and an age', () => {
  let nowMs = 0
  const clock = { elapsedMs: () => nowMs }
  const recent = createRecentItems<number>({ clock, max: 3, maxAgeMs: 10 })
  assert.deepEqual(recent.take(), [])
  for (const item of [1, 2, 3, 4, 5]) {
    recent.add(item)
    nowMs += 4
  }
  assert.deepEqual(recent.take(), [4, 5]) // 3 is 12 ms old
  assert.deepEqual(recent.take(), [])
  recent.add(6)
  assert.deepEqual(recent.take(), [6])
})
