/** §11.5: long work of a customer takes a part of the time beside others, and all of it alone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BESIDE_OTHERS, startPace } from './pace.ts'
import { createShare } from './share.ts'

function createTime() {
  let nowMs = 0
  const clock = { elapsedMs: () => nowMs }
  const pauses: number[] = []
  const advance = (ms: number) => {
    nowMs += ms
  }
  const pause = async (ms: number) => {
    pauses.push(ms)
    advance(ms)
  }
  return { clock, pauses, pause, advance }
}

function createRig() {
  const { clock, pauses, pause, advance } = createTime()
  const share = createShare({ clock, ...BESIDE_OTHERS, part: 0.1 })
  const pace = startPace('a', share, clock, pause)
  return { share, pace, pauses, advance }
}

test('work of less than 2 ms has no pause', () => {
  const { share, pace, advance } = createRig()
  share.note('b')
  advance(1.9)
  assert.equal(pace(), undefined)
})

test('a part of long work counts however short it is', async () => {
  const { clock, pauses, pause, advance } = createTime()
  const share = createShare({ clock, ...BESIDE_OTHERS, part: 0.1 })
  for (const owner of ['b', 'a']) share.note(owner)
  for (let n = 0; n < 3; n++) {
    const pace = startPace('a', share, clock, pause, true)
    advance(1)
    await pace()
  }
  assert.deepEqual(pauses, [9, 9, 9])
})

test('work of less than 4 ms lets others run, and has no rest', async () => {
  const { share, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a']) share.note(owner)
  advance(2)
  await pace()
  assert.deepEqual(pauses, [0])
  assert.equal(share.restMs('a'), 0)
  for (const _ of ['the work until now', 'a part']) {
    advance(2)
    await pace()
  }
  assert.deepEqual(pauses, [0, 36, 18])
})

test('the first part of short work rests if other work of its owner rests', async () => {
  const { share, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a']) share.note(owner)
  advance(2)
  share.addWork('a', 1)
  await pace()
  assert.deepEqual(pauses, [27])
})

test('an owner alone pauses for one turn of the event loop', async () => {
  const { share, pace, pauses, advance } = createRig()
  share.note('a')
  share.note('a')
  advance(10)
  await pace()
  assert.deepEqual(pauses, [0])
})

test('beside another owner the rest is nine times the work since the last pause', async () => {
  const { share, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a', 'a']) share.note(owner)
  advance(10)
  await pace()
  assert.equal(pace(), undefined)
  advance(20)
  share.note('b')
  await pace()
  assert.deepEqual(pauses, [90, 180])
})

test('requests of an owner at once have one share', async () => {
  const { clock, pauses, pause, advance } = createTime()
  const share = createShare({ clock, ...BESIDE_OTHERS, part: 0.1 })
  const [first, second] = [0, 1].map(() => startPace('a', share, clock, pause))
  share.note('b')
  advance(10)
  const rested = first!()
  // Other work of the owner ends during the rest.
  share.addWork('a', 10)
  await rested
  assert.deepEqual(pauses, [90, 90])
  share.note('b')
  await second!()
  assert.equal(share.restMs('a'), 0)
})

test('the rests of work that an owner does at once add up', () => {
  const { share, advance } = createRig()
  share.note('b')
  assert.equal(share.addWork('a', 10), 90)
  advance(30)
  assert.equal(share.addWork('a', 10), 150)
  assert.equal(share.addWork('c', 10), 90)
})

test('an owner whose last request is a second old is not active', async () => {
  const { share, pace, pauses, advance } = createRig()
  for (const owner of ['b', 'a']) share.note(owner)
  advance(1_000)
  await pace()
  assert.deepEqual(pauses, [0])
})

test('a rest is at most five seconds', () => {
  const { share, advance } = createRig()
  advance(5)
  share.note('b')
  assert.equal(share.addWork('a', 60_000), 5_000)
})
