import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { outlookOf } from './version-outlook.ts'

const TODAY = Date.parse('2026-12-01T00:00:00Z')
const dayOf = (ms: number | null) => ms && new Date(ms).toISOString().slice(0, 10)

test('a caller that loses ten requests a day is gone when the line reaches zero', () => {
  const daily = Array.from({ length: 20 }, (_, at) => 300 - 10 * at)
  const { kind, goneByMs } = outlookOf(daily, TODAY)
  assert.deepEqual([kind, dayOf(goneByMs)], ['falling', '2026-12-11'])
})

test('a caller that has stopped is gone today', () => {
  const daily = [90, 80, 70, 40, 20, 0, 0, 0, 0, 0, 0, 0]
  assert.deepEqual(outlookOf(daily, TODAY), { kind: 'falling', goneByMs: TODAY })
})

test('a steady caller is flat, and a growing one rises', () => {
  assert.equal(outlookOf([10, 11, 9, 10, 10, 9, 11, 10], TODAY).kind, 'flat')
  assert.equal(outlookOf([1, 2, 4, 5, 8, 9, 12], TODAY).kind, 'rising')
})

test('less than a week of requests has no trend, whatever came before', () => {
  assert.equal(outlookOf([0, 0, 0, 0, 0, 0, 0, 9, 6, 3, 1], TODAY).kind, 'flat')
  assert.equal(outlookOf([], TODAY).kind, 'flat')
  assert.equal(outlookOf(Array(30).fill(0), TODAY).kind, 'flat')
})

test('only a falling caller has a day, and never one of the past', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(1_000_000), { maxLength: 90 }), (daily) => {
      const { kind, goneByMs } = outlookOf(daily, TODAY)
      if (goneByMs !== null) assert.ok(kind === 'falling' && goneByMs >= TODAY)
    }),
  )
})
