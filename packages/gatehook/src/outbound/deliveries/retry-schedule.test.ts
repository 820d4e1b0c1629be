import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../transport/attempt.ts'
import { decideRetry } from './retry-schedule.ts'

const HOUR_MS = 3_600_000
const scheduleS = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]
const NOW = Date.UTC(2026, 10, 21)

const answered = (status: number, retryAfter?: string): Outcome => ({
  kind: 'answered',
  status,
  headers: {},
  body: '',
  durationMs: 1,
  ...(retryAfter !== undefined && { retryAfter }),
})
const timeout: Outcome = { kind: 'failed', reason: 'timeout', message: '', durationMs: 15_000 }
const at = (outcome: Outcome, n: number, chance = 0.5) =>
  decideRetry(outcome, { inRound: n, now: NOW, scheduleS, chance })

test('only a 2xx status is a delivery', () => {
  for (const status of [200, 201, 204, 299]) {
    assert.deepEqual(at(answered(status), 1), { state: 'delivered', nextAt: null })
  }
  for (const status of [301, 302, 307, 400, 401, 404, 500]) {
    assert.equal(at(answered(status), 1).state, 'pending', String(status))
  }
  assert.equal(at(timeout, 1).state, 'pending')
})

test('ten attempts, each after its delay with a jitter of 20 %', () => {
  for (const [index, delayS] of scheduleS.entries()) {
    const delay = (chance: number) => at(answered(500), index + 1, chance).nextAt! - NOW
    assert.equal(delay(0.5), delayS * 1000)
    assert.equal(delay(0), delayS * 800)
    assert.ok(delay(0.999_999) <= delayS * 1200)
  }
  assert.deepEqual(at(answered(500), 10), { state: 'exhausted', nextAt: null })
})

test('Retry-After sets a hold of at most 24 h, and never shortens a delay', () => {
  const hour = at(answered(500, '3600'), 1)
  assert.equal(hour.nextAt, NOW + HOUR_MS)
  assert.equal(hour.holdUntil, NOW + HOUR_MS)
  assert.equal(at(answered(503, String(48 * 3600)), 1).holdUntil, NOW + 24 * HOUR_MS)
  const huge = '9'.repeat(30)
  assert.equal(at(answered(500, huge), 1).nextAt, NOW + 24 * HOUR_MS)
  const second = at(answered(429, '1'), 1)
  assert.equal(second.holdUntil, NOW + 1000)
  assert.equal(second.nextAt, NOW + 5000)
  const date = at(answered(503, new Date(NOW + HOUR_MS).toUTCString()), 1)
  assert.equal(date.holdUntil, NOW + HOUR_MS)
})

test('429 and 503 without Retry-After set a hold of 60 s; a time-out and a 500 set none', () => {
  for (const status of [429, 503]) {
    const busy = at(answered(status), 1)
    assert.equal(busy.holdUntil, NOW + 60_000)
    assert.equal(busy.nextAt, NOW + 60_000) // the log returns the time of the retry
  }
  for (const outcome of [timeout, answered(500)]) {
    assert.equal(at(outcome, 1).holdUntil, undefined)
  }
})

test('410 ends the delivery and reports that the receiver is gone', () => {
  assert.deepEqual(at(answered(410), 1), { state: 'failed', nextAt: null, isGone: true })
})
