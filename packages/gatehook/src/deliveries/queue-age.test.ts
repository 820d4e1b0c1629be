import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queueAgesOf } from './queue-age.ts'

const NOW = 100_000
const endpoint = (state: 'closed' | 'open' | 'probing', nextDueAt?: number, holdUntil = 0) => ({
  breaker: { state },
  nextDueAt,
  holdUntil,
})

test('a failing receiver ages the queue, and does not make the node late', () => {
  const failing = [endpoint('open', NOW - 900), endpoint('probing', NOW - 800)]
  assert.deepEqual(queueAgesOf(failing, NOW), { queueAgeMs: 900, lateMs: 0 })
  const mixed = [...failing, endpoint('closed', NOW - 70)]
  assert.deepEqual(queueAgesOf(mixed, NOW), { queueAgeMs: 900, lateMs: 70 })
})

test('neither deliveries to come nor endpoints on hold have an age', () => {
  const others = [
    endpoint('closed'),
    endpoint('closed', NOW + 5),
    endpoint('closed', NOW - 500, NOW + 1),
  ]
  assert.deepEqual(queueAgesOf(others, NOW), { queueAgeMs: 0, lateMs: 0 })
})
