/** §11.5: long work of a customer takes a tenth of the time beside others, and all of it alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createActivity, startPace } from './pace.ts'

function createRig() {
  let nowMs = 0
  const clock = { elapsedMs: () => nowMs }
  const activity = createActivity(clock, 0.1)
  const pauses: number[] = []
  const advance = (ms: number) => {
    nowMs += ms
  }
  const pace = startPace('a', activity, clock, async (ms) => {
    pauses.push(ms)
    advance(ms)
  })
  return { activity, pace, pauses, advance }
}

test('work of less than 10 ms has no pause', () => {
  const { activity, pace, advance } = createRig()
  activity.note('b')
  advance(9)
  assert.equal(pace(), undefined)
})

test('an owner alone pauses for one turn of the event loop', async () => {
  const { activity, pace, pauses, advance } = createRig()
  activity.note('a')
  activity.note('a')
  advance(10)
  await pace()
  assert.deepEqual(pauses, [0])
})

test('beside another owner the rest is nine times the work since the last pause', async () => {
  const { activity, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a', 'a']) activity.note(owner)
  advance(10)
  await pace()
  assert.equal(pace(), undefined)
  advance(20)
  activity.note('b')
  await pace()
  assert.deepEqual(pauses, [90, 180])
})

test('the rests of work that an owner does at once add up', () => {
  const { activity, advance } = createRig()
  activity.note('b')
  assert.equal(activity.addWork('a', 10), 90)
  advance(30)
  assert.equal(activity.addWork('a', 10), 150)
  assert.equal(activity.addWork('c', 10), 90)
})

test('an owner whose last request is a second old is not active', async () => {
  const { activity, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a']) activity.note(owner)
  advance(1_000)
  await pace()
  assert.deepEqual(pauses, [0])
})

test('a rest is at most five seconds', () => {
  const { activity, advance } = createRig()
  advance(5)
  activity.note('b')
  assert.equal(activity.addWork('a', 60_000), 5_000)
})
