import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { isDelivered, type Outcome, parseRetryAfterMs } from './attempt.ts'

const file = new URL('../../../../../spec/vectors/retry-after.json', import.meta.url)
const { now, values } = JSON.parse(readFileSync(file, 'utf8')) as {
  now: string
  values: { value: string; seconds: number | null }[]
}

test('Retry-After is whole seconds or an HTTP date', () => {
  const parse = (value: string | undefined) => parseRetryAfterMs(value, Date.parse(now))
  for (const { value, seconds } of values) {
    assert.equal(parse(value), seconds === null ? undefined : seconds * 1000, value)
  }
  assert.equal(parse(undefined), undefined)
  assert.equal(parse('9'.repeat(400)), Number.POSITIVE_INFINITY) // without an upper bound
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
