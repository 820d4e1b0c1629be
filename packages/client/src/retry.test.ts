import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { delayMs, retryAfterOf } from './retry.ts'

const file = new URL('../../../spec/vectors/retry-after.json', import.meta.url)
const { now, values } = JSON.parse(readFileSync(file, 'utf8')) as {
  now: string
  values: { value: string; seconds: number | null }[]
}
const nowMs = Date.parse(now)

test('Retry-After is whole seconds or an HTTP date', () => {
  for (const { value, seconds } of values) {
    assert.equal(retryAfterOf(value, nowMs), seconds ?? undefined, value)
  }
  assert.equal(retryAfterOf(null, nowMs), undefined)
})

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/** The three formats of RFC 9110 §5.6.7. */
function formatsOf(atMs: number): string[] {
  const imf = new Date(atMs).toUTCString()
  const [day, date, month, year, time] = imf.replace(',', '').split(' ') as string[]
  const weekday = DAYS.find((name) => name.startsWith(day!))
  return [
    imf,
    `${weekday}, ${date}-${month}-${year!.slice(2)} ${time} GMT`,
    `${day} ${month} ${date!.replace(/^0/, ' ')} ${time} ${year}`,
  ]
}

test('a date in any format of the RFC is the seconds until then, and 0 in the past', () => {
  const seconds = fc.integer({ min: -1e8, max: 1e8 })
  fc.assert(
    fc.property(seconds, (afterS) => {
      for (const text of formatsOf(nowMs + afterS * 1000)) {
        assert.equal(retryAfterOf(text, nowMs), Math.max(0, afterS), text)
      }
    }),
  )
})

test('any other text has no value, so that the client backs off', () => {
  const date = fc.integer({ min: 0, max: 4e12 }).map((atMs) => new Date(atMs))
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.float().map(String),
    fc.integer({ max: -1 }).map(String),
    date.map((value) => value.toISOString()),
    date.map((value) => value.toString()),
    date.map((value) => value.toLocaleDateString('en-US')),
    date.map((value) => value.toDateString()),
    date.map((value) => value.toUTCString().replace('GMT', '+0100')),
    date.map((value) => value.toUTCString().slice(5)),
  )
  fc.assert(
    fc.property(text, (value) => {
      fc.pre(!/^\s*\d+\s*$/.test(value))
      assert.equal(retryAfterOf(value, nowMs), undefined, value)
    }),
    { numRuns: 1000 },
  )
  assert.deepEqual(
    [1, 2, 3].map((attempt) => delayMs(attempt, retryAfterOf('-5', nowMs), 0)),
    [125, 250, 500],
  )
})
