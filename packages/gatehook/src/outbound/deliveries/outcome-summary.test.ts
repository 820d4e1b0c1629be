import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countLastDay, healthStateOf, markOf, OutcomeSummary } from './outcome-summary.ts'

const HOUR_MS = 3_600_000
const NOON = Date.UTC(2026, 0, 1, 12)

test('a mark distinguishes accepted, late, slow and failed attempts', () => {
  assert.equal(markOf(true, 1, 40), 'o')
  assert.equal(markOf(true, 2, 40), 'w')
  assert.equal(markOf(true, 1, 2_000), 's')
  assert.equal(markOf(true, 2, 10_000), 's')
  assert.equal(markOf(false, 1, 40), 'x')
})

test('the state follows from the last attempts', () => {
  assert.equal(healthStateOf(''), 'new')
  assert.equal(healthStateOf('ow'), 'healthy')
  assert.equal(healthStateOf('x'), 'some_fail')
  assert.equal(healthStateOf('xxx'), 'failing')
  assert.equal(healthStateOf('xxxo'), 'some_fail', 'the last attempt was accepted')
  assert.equal(healthStateOf(`${'o'.repeat(40)}${'x'.repeat(14)}`), 'failing')
  assert.equal(healthStateOf(`${'o'.repeat(40)}${'x'.repeat(13)}`), 'some_fail')
  assert.equal(healthStateOf(`x${'o'.repeat(59)}`), 'some_fail')
  assert.equal(healthStateOf('ss'), 'healthy')
  assert.equal(healthStateOf('sss'), 'slow')
  assert.equal(healthStateOf(`${'o'.repeat(46)}${'s'.repeat(14)}`), 'slow')
  assert.equal(healthStateOf(`${'o'.repeat(47)}${'s'.repeat(13)}`), 'healthy')
  assert.equal(healthStateOf('sssxs'), 'slow', 'a time-out of a slow receiver')
  assert.equal(healthStateOf('sxxx'), 'failing')
  assert.equal(healthStateOf('xxxs'), 'some_fail')
  assert.equal(healthStateOf('wwww'), 'healthy', 'late attempts were quick')
})

test('a summary has 60 marks and 24 hours, however many attempts', () => {
  const summary = new OutcomeSummary(undefined)
  for (let hour = 0; hour < 48; hour++) {
    for (let n = 0; n < 10; n++) summary.add(n === 0 ? 'x' : 'o', NOON + hour * HOUR_MS)
  }
  const { marks, hours } = summary.stored
  assert.equal(marks, 'xooooooooo'.repeat(6))
  assert.equal(JSON.parse(hours).length, 24)
  const now = NOON + 47 * HOUR_MS
  assert.deepEqual(countLastDay(summary.stored, now), { accepted: 216, failed: 24 })
  const later = now + 12 * HOUR_MS
  assert.deepEqual(countLastDay(summary.stored, later), { accepted: 108, failed: 12 })
  assert.deepEqual(countLastDay(summary.stored, now + 25 * HOUR_MS), { accepted: 0, failed: 0 })
})

test('a stored summary continues, also after the clock was set back', () => {
  const first = new OutcomeSummary(undefined)
  first.add('x', NOON)
  const second = new OutcomeSummary(first.stored)
  second.add('o', NOON - 3 * HOUR_MS)
  assert.equal(second.stored.marks, 'xo')
  assert.deepEqual(countLastDay(second.stored, NOON), { accepted: 1, failed: 1 })
  assert.equal(second.state, 'some_fail')
})
