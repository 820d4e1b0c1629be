/** §18.10: a clock that jumps purges nothing for a day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createClockSteps } from './clock-steps.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function stage() {
  let [elapsedMs, aheadMs] = [0, 0]
  const lines: string[] = []
  const clock = { now: () => 1e12 + elapsedMs + aheadMs, elapsedMs: () => elapsedMs }
  const log = { warn: (line: unknown) => void lines.push(String(line)) }
  const steps = createClockSteps(clock, log as Parameters<typeof createClockSteps>[1])
  return {
    steps,
    lines,
    pass: (ms: number) => void (elapsedMs += ms),
    set: (ms: number) => void (aheadMs = ms),
  }
}

test('a step holds purges for a day, or until the clock is set right', () => {
  const { steps, lines, pass, set } = stage()
  pass(HOUR_MS)
  assert.equal(steps.isHeld(), false)
  set(40 * DAY_MS)
  assert.match(String(steps.warning()), /set forward by 57,600 minutes/)
  pass(10_000)
  assert.equal(steps.isHeld(), true)
  set(0)
  assert.equal(steps.isHeld(), false)
  set(-2 * HOUR_MS)
  assert.match(String(steps.warning()), /set back by 120 minutes/)
  pass(DAY_MS - 1)
  assert.equal(steps.isHeld(), true)
  pass(1)
  assert.equal(steps.isHeld(), false)
  set(-2 * HOUR_MS + 60_000)
  assert.equal(steps.isHeld(), false)
  assert.equal(lines.length, 2)
})

test('another step during the day begins another day, and a slow drift is no step', () => {
  const { steps, pass, set } = stage()
  set(HOUR_MS)
  assert.equal(steps.isHeld(), true)
  pass(DAY_MS / 2)
  set(3 * HOUR_MS)
  assert.equal(steps.isHeld(), true)
  pass(DAY_MS / 2)
  assert.equal(steps.isHeld(), true)
  pass(DAY_MS / 2)
  assert.equal(steps.isHeld(), false)
  for (let n = 0; n < 100; n++) {
    set(3 * HOUR_MS + n * 60_000)
    pass(60_000)
    assert.equal(steps.isHeld(), false)
  }
})
