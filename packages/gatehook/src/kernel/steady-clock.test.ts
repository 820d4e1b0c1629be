/** §18.10: a step of the machine's clock counts after a minute, and ends nothing for a day. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SteadyClock } from './steady-clock.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = 1e12

function stage() {
  let [elapsedMs, aheadMs, sleptMs] = [0, 0, 0]
  const machine = { now: () => START_MS + elapsedMs + aheadMs, elapsedMs: () => elapsedMs }
  const clock = new SteadyClock(machine, () => 5000 + elapsedMs + sleptMs)
  return {
    clock,
    /** How far both readings are ahead of the time that has passed. */
    ahead: () => [clock.now(), clock.steadyNow()].map((ms) => ms - START_MS - elapsedMs),
    pass: (ms: number) => void (elapsedMs += ms),
    set: (ms: number) => void (aheadMs = ms),
    sleep: (ms: number) => void ([sleptMs, aheadMs] = [sleptMs + ms, aheadMs + ms]),
  }
}

test('a step counts after a minute, and for what ends after a day', () => {
  for (const stepMs of [40 * DAY_MS, -2 * HOUR_MS]) {
    const { clock, ahead, pass, set } = stage()
    set(stepMs)
    assert.deepEqual(ahead(), [0, 0])
    assert.deepEqual(clock.step(), { byMs: stepMs, sinceMs: 0, leftMs: DAY_MS })
    pass(MINUTE_MS - 1)
    assert.deepEqual(ahead(), [0, 0])
    pass(1)
    assert.deepEqual(ahead(), [stepMs, 0])
    pass(DAY_MS - MINUTE_MS - 1)
    assert.deepEqual(ahead(), [stepMs, 0])
    pass(1)
    assert.deepEqual(ahead(), [stepMs, stepMs])
    assert.equal(clock.step(), undefined)
  }
})

test('a step that is put right leaves nothing', () => {
  const { clock, ahead, pass, set } = stage()
  for (const lastsMs of [14_000, 5 * HOUR_MS]) {
    set(40 * DAY_MS)
    clock.now()
    pass(lastsMs)
    clock.now()
    set(0)
    assert.deepEqual(ahead(), [0, 0])
    assert.equal(clock.step(), undefined)
  }
})

test('a further step keeps the time that counts for a minute more', () => {
  const { ahead, pass, set } = stage()
  set(HOUR_MS)
  ahead()
  pass(2 * MINUTE_MS)
  assert.deepEqual(ahead(), [HOUR_MS, 0])
  set(3 * HOUR_MS)
  assert.deepEqual(ahead(), [HOUR_MS, 0])
  pass(MINUTE_MS)
  assert.deepEqual(ahead(), [3 * HOUR_MS, 0])
})

test('sleep of the machine, small steps and a slow drift count at once', () => {
  const { clock, ahead, pass, set, sleep } = stage()
  sleep(8 * HOUR_MS)
  assert.deepEqual(ahead(), [8 * HOUR_MS, 8 * HOUR_MS])
  for (let n = 1; n <= 100; n++) {
    pass(MINUTE_MS)
    set(8 * HOUR_MS + n * MINUTE_MS)
    assert.deepEqual(ahead(), [8 * HOUR_MS + n * MINUTE_MS, 8 * HOUR_MS + n * MINUTE_MS])
  }
  assert.equal(clock.step(), undefined)
})

test('a doubted start counts at once, and ends nothing for a day', () => {
  const { clock, ahead, pass, set } = stage()
  clock.doubt(40 * DAY_MS)
  assert.deepEqual(ahead(), [0, -40 * DAY_MS])
  pass(DAY_MS - 2 * MINUTE_MS)
  assert.deepEqual(ahead(), [0, -40 * DAY_MS])
  set(-40 * DAY_MS)
  assert.deepEqual(ahead(), [-40 * DAY_MS, -40 * DAY_MS], 'the clock is set right')
  assert.equal(clock.step(), undefined)
})

test('the clock of a server decides a step at once, for as long as it says so', () => {
  const { clock, ahead, pass, set } = stage()
  clock.judge(40 * DAY_MS)
  assert.deepEqual(ahead(), [0, 0], 'without a step there is nothing to decide')
  set(40 * DAY_MS)
  for (let n = 0; n < 10; n++) {
    clock.judge(-2_000)
    assert.deepEqual(ahead(), [0, 0])
    pass(MINUTE_MS - 1)
  }
  pass(1)
  assert.deepEqual(ahead(), [40 * DAY_MS, 0], 'the server gave no answer for a minute')
  clock.judge(-40 * DAY_MS)
  assert.deepEqual(ahead(), [0, 0])
  clock.judge(40 * DAY_MS - 2_000)
  assert.deepEqual(ahead(), [40 * DAY_MS, 40 * DAY_MS], 'the step was right')
  assert.equal(clock.step(), undefined)
})

test('a pause that the clock of a server confirms is not doubted', () => {
  const { clock, ahead } = stage()
  clock.doubt(3 * DAY_MS)
  clock.judge(1_000)
  assert.deepEqual(ahead(), [0, 0])
})

test('rows of the former time are found for a day after the step counts', () => {
  const { clock, pass } = stage()
  clock.doubt(3 * DAY_MS, MINUTE_MS)
  assert.equal(clock.formerNow(), undefined)
  pass(MINUTE_MS)
  assert.equal(clock.steadyNow() - clock.formerNow()!, 3 * DAY_MS)
  pass(DAY_MS - 1)
  assert.equal(clock.steadyNow() - clock.formerNow()!, 3 * DAY_MS)
  pass(1)
  assert.equal(clock.formerNow(), undefined)
})

test('a start by a clock that is behind goes on by the last time for ten minutes', () => {
  const { clock, ahead, pass, set } = stage()
  clock.doubt(-8_000 * DAY_MS)
  assert.deepEqual(ahead(), [8_000 * DAY_MS, 8_000 * DAY_MS])
  pass(9 * MINUTE_MS)
  assert.deepEqual(ahead(), [8_000 * DAY_MS, 8_000 * DAY_MS])
  set(8_000 * DAY_MS)
  assert.deepEqual(ahead(), [8_000 * DAY_MS, 8_000 * DAY_MS])
  assert.equal(clock.step(), undefined, 'the clock is set right')
})
