import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { trendOf } from './version-trend.ts'

test('a caller with fewer requests in the later days is falling', () => {
  assert.equal(trendOf(Array.from({ length: 20 }, (_, at) => 300 - 10 * at)), 'falling')
  assert.equal(trendOf([90, 80, 70, 40, 20, 0, 0, 0, 0, 0, 0, 0]), 'falling')
})

test('a steady caller is flat, and a growing one rises', () => {
  assert.equal(trendOf([10, 11, 9, 10, 10, 9, 11, 10]), 'flat')
  assert.equal(trendOf([1, 2, 4, 5, 8, 9, 12]), 'rising')
})

test('less than a week of requests has no trend, whatever came before', () => {
  assert.equal(trendOf([0, 0, 0, 0, 0, 0, 0, 9, 6, 3, 1]), 'flat')
  assert.equal(trendOf([]), 'flat')
  assert.equal(trendOf(Array(30).fill(0)), 'flat')
})

test('the mirrored days of a falling caller are not falling', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 1_000_000 }), { maxLength: 90 }), (daily) => {
      if (trendOf(daily) === 'falling') assert.notEqual(trendOf(daily.toReversed()), 'falling')
    }),
  )
})
