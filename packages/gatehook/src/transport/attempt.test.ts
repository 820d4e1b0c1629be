import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDelivered, type Outcome, parseRetryAfterMs } from './attempt.ts'

const NOW = Date.UTC(2026, 10, 21, 12)

test('Retry-After is whole seconds or an HTTP date', () => {
  const cases: readonly (readonly [string | undefined, number | undefined])[] = [
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['99999999999', 99_999_999_999_000],
    ['9'.repeat(400), Number.POSITIVE_INFINITY], // without an upper bound
    ['Sat, 21 Nov 2026 12:00:30 GMT', 30_000],
    ['Saturday, 21-Nov-26 12:00:30 GMT', 30_000],
    ['Sat Nov 21 12:00:30 2026', 30_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0], // in the past
    [undefined, undefined],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    ['soon', undefined],
    ['2026-11-21T12:00:30Z', undefined],
    ['Sat, 99 Nov 2026 12:00:30 GMT', undefined],
  ]
  for (const [text, expected] of cases) {
    assert.equal(parseRetryAfterMs(text, NOW), expected, String(text))
  }
})

test('a delivered attempt has a 2xx response', () => {
  const of = (status: number): Outcome => ({
    kind: 'answered',
    status,
    headers: {},
    body: '',
    durationMs: 1,
  })
  const delivered = [199, 200, 204, 299, 300, 404].filter((status) => isDelivered(of(status)))
  assert.deepEqual(delivered, [200, 204, 299])
  const message = 'no'
  assert.equal(isDelivered({ kind: 'failed', reason: 'reset', message, durationMs: 1 }), false)
})
