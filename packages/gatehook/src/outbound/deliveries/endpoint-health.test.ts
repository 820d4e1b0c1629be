import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CircuitBreaker } from './endpoint-health.ts'

const T = 1_000_000_000

const fail = (breaker: CircuitBreaker, times: number, now = T) => {
  for (let n = 0; n < times; n++) breaker.recordResult(false, now, false)
}

test('the tenth failure opens the breaker', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 9)
  assert.ok(breaker.admits(T, 0))
  fail(breaker, 1)
  assert.equal(breaker.state, 'open')
  assert.ok(!breaker.admits(T + 29_999, 0))
})

test('seven failures of ten attempts open the breaker, six do not', () => {
  for (const [failures, state] of [
    [6, 'closed'],
    [7, 'open'],
  ] as const) {
    const breaker = new CircuitBreaker()
    for (let n = 0; n < 10 - failures; n++) breaker.recordResult(true, T, false)
    fail(breaker, failures)
    assert.equal(breaker.state, state)
  }
})

test('attempts before the window do not count', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 9)
  fail(breaker, 9, T + 35_000)
  assert.equal(breaker.state, 'closed')
})

test('a failing probe doubles the open time up to 10 min; a successful one closes', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 10)
  let now = T
  for (const waitS of [30, 60, 120, 240, 480, 600, 600]) {
    assert.equal(breaker.probeAt(now), now + waitS * 1000)
    now += waitS * 1000
    assert.ok(breaker.admits(now, 0))
    assert.ok(!breaker.admits(now, 1), 'no probe while other attempts are in flight')
    assert.ok(breaker.recordStart())
    assert.ok(!breaker.admits(now, 0), 'one probe at a time')
    breaker.recordResult(false, now, true)
  }
  now += 600_000
  breaker.recordStart()
  breaker.recordResult(true, now, true)
  assert.equal(breaker.state, 'closed')
  fail(breaker, 9, now)
  assert.equal(breaker.state, 'closed', 'closing clears the counts')
})

test('results of attempts in flight at the opening change nothing', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 10)
  breaker.recordResult(true, T + 10, false)
  fail(breaker, 5, T + 20)
  assert.equal(breaker.probeAt(T + 20), T + 30_000)
})

test('a clock set back to before the opening admits a probe', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 10)
  assert.ok(!breaker.admits(T + 29_999, 0))
  assert.ok(breaker.admits(T - 3_600_000, 0))
  assert.equal(breaker.probeAt(T - 3_600_000), undefined)
})

test('a resent delivery is a probe before the open time ends; its failure changes nothing', () => {
  const breaker = new CircuitBreaker()
  fail(breaker, 10)
  assert.ok(breaker.admitsResend)
  assert.ok(breaker.recordStart())
  assert.ok(!breaker.admitsResend, 'one probe at a time')
  breaker.recordResult(false, T + 10, true)
  assert.equal(breaker.probeAt(T + 10), T + 30_000)
  assert.ok(breaker.recordStart())
  breaker.recordResult(true, T + 15, false)
  assert.equal(breaker.state, 'probing', 'an attempt from before the opening decides nothing')
  breaker.recordResult(true, T + 20, true)
  assert.equal(breaker.state, 'closed')
})
