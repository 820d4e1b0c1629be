import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from './histogram.ts'

test('quantiles are at most 1.6 % low, at every magnitude', () => {
  for (const value of [0, 1, 63, 64, 65, 127, 128, 1000, 4095, 4096, 1_000_000, 2 ** 30]) {
    const histogram = new Histogram()
    histogram.add(value)
    const got = histogram.quantile(0.5)
    assert.ok(got <= value && got >= value * (1 - 1 / 63), `${value} came back as ${got}`)
  }
})

test('the median and the 99th percentile of 1 to 1000', () => {
  const histogram = new Histogram()
  for (let value = 1; value <= 1000; value++) histogram.add(value)
  const { p50, p99, max } = histogram.percentiles()
  assert.ok(p50 <= 500 && p50 > 490)
  assert.ok(p99 <= 990 && p99 > 970)
  assert.equal(max, 1000)
})

test('an empty histogram has zeros', () => {
  assert.deepEqual(new Histogram().percentiles(), { p50: 0, p99: 0, max: 0 })
})
