/** §18.10: a clock that jumps purges nothing for a day, and is named. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClockStep } from '../../kernel/clock.ts'
import { createClockSteps } from './clock-steps.ts'

const DAY_MS = 86_400_000

test('a step holds purges, warns, and is logged once', () => {
  let step: ClockStep | undefined
  const lines: string[] = []
  const clock = { now: () => 0, elapsedMs: () => 0, step: () => step }
  const log = { warn: (line: unknown) => void lines.push(String(line)) }
  const steps = createClockSteps(clock, log as Parameters<typeof createClockSteps>[1])
  assert.equal(steps.isHeld(), false)
  step = { byMs: 40 * DAY_MS, sinceMs: 1, leftMs: DAY_MS }
  assert.equal(steps.isHeld(), true)
  assert.match(String(steps.warning()), /set forward by 57,600 minutes/)
  step = { byMs: -DAY_MS / 12, sinceMs: 2, leftMs: DAY_MS }
  assert.match(String(steps.warning()), /set back by 120 minutes/)
  step = undefined
  assert.equal(steps.isHeld(), false)
  assert.equal(lines.length, 2)
})
