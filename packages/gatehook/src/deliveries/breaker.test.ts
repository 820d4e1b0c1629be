import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker } from './breaker.ts'

const T = 1_000_000_000

const fail = (breaker: Breaker, times: number, now = T) => {
  for (let n = 0; n < times; n++) breaker.record(false, now)
}

test('nine failures do not open it, the tenth does', () => {
  const breaker = new Breaker()
  fail(breaker, 9)
  assert.ok(breaker.admits(T, 0))
  fail(breaker, 1)
  assert.equal(breaker.state, 'open')
  assert.ok(!breaker.admits(T + 29_999, 0))
})

test('seven of ten open it, six do not', () => {
  for (const [failures, state] of [
    [6, 'closed'],
    [7, 'open'],
  ] as const) {
    const breaker = new Breaker()
    for (let n = 0; n < 10 - failures; n++) breaker.record(true, T)
    fail(breaker, failures)
    assert.equal(breaker.state, state)
  }
})

test('what is older than the window does not count', () => {
  const breaker = new Breaker()
  fail(breaker, 9)
  fail(breaker, 9, T + 35_000)
  assert.equal(breaker.state, 'closed')
})

test('one probe at a time; failing, it doubles the wait up to ten minutes; else it closes', () => {
  const breaker = new Breaker()
  fail(breaker, 10)
  let now = T
  for (const waitS of [30, 60, 120, 240, 480, 600, 600]) {
    assert.equal(breaker.opensAt(now), now + waitS * 1000)
    now += waitS * 1000
    assert.ok(breaker.admits(now, 0))
    assert.ok(!breaker.admits(now, 1), 'not while others are under way')
    breaker.sent()
    assert.ok(!breaker.admits(now, 0), 'not beside the probe')
    breaker.record(false, now)
  }
  now += 600_000
  breaker.sent()
  breaker.record(true, now)
  assert.equal(breaker.state, 'closed')
  fail(breaker, 9, now)
  assert.equal(breaker.state, 'closed', 'the old failures are forgotten')
})

test('those under way when it opened neither close it nor make it wait longer', () => {
  const breaker = new Breaker()
  fail(breaker, 10)
  breaker.record(true, T + 10)
  fail(breaker, 5, T + 20)
  assert.equal(breaker.opensAt(T + 20), T + 30_000)
})

test('a clock set back to before it opened does not keep it open', () => {
  const breaker = new Breaker()
  fail(breaker, 10)
  assert.ok(!breaker.admits(T + 29_999, 0))
  assert.ok(breaker.admits(T - 3_600_000, 0), 'a probe may be sent')
  assert.equal(breaker.opensAt(T - 3_600_000), undefined)
})
