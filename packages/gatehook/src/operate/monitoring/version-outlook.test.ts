import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { forecastOf, outlookOf } from './version-outlook.ts'

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

const forecastIn = (callers: readonly (readonly number[])[]) =>
  forecastOf(callers, TODAY).map(({ atMs, requests }) => [dayOf(atMs), requests])

test('the forecast falls until a caller is gone, and those that do not move remain', () => {
  const falling = Array.from({ length: 20 }, (_, at) => 300 - 10 * at)
  assert.deepEqual(forecastIn([falling, Array(20).fill(40)]), [
    ['2026-12-01', 140],
    ['2026-12-11', 40],
    ['2029-02-08', 40],
  ])
})

test('the forecast without requests is empty, and after the last request it is zero', () => {
  assert.deepEqual(forecastIn([Array(30).fill(0), []]), [])
  const stopped = forecastIn([[90, 80, 70, 40, 20, 0, 0, 0, 0, 0, 0, 0]])
  assert.deepEqual(stopped, [
    ['2026-12-01', 0],
    ['2029-02-08', 0],
  ])
})

test('a forecast never rises or is negative, and has one point for each caller that ends', () => {
  const caller = fc.array(fc.nat(1_000_000), { maxLength: 90 })
  fc.assert(
    fc.property(fc.array(caller, { maxLength: 20 }), (callers) => {
      const points = forecastOf(callers, TODAY)
      assert.ok(points.length <= callers.length + 2)
      for (const [at, { requests }] of points.entries()) {
        assert.ok(Number.isFinite(requests) && requests >= 0)
        assert.ok(at === 0 || requests <= points[at - 1]!.requests)
      }
    }),
  )
})
