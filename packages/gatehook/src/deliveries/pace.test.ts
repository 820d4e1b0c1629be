import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

const fill = (pace: Pace, atMs: number, first = false) => {
  const starts = []
  while (pace.admits(atMs, first)) starts.push(pace.started(atMs))
  return starts
}

test('quick ones are bounded; who has nothing under way has places of its own', () => {
  const pace = new Pace()
  assert.equal(fill(pace, 0).length, 48)
  assert.equal(fill(pace, 0, true).length, 32)
  assert.ok(!pace.admits(0, true))
})

test('slow ones take no places from quick ones, and end without giving any back', () => {
  const pace = new Pace()
  const slow = fill(pace, 0)
  assert.ok(!pace.admits(49, false))
  assert.equal(fill(pace, 50).length, 48)
  for (const start of slow) pace.ended(start, 50)
  assert.ok(!pace.admits(51, false))
})

test('each that ends makes room for one', () => {
  const pace = new Pace()
  let running = fill(pace, 0)
  for (let ms = 1; ms < 5_000; ms++) {
    pace.ended(running.shift()!, ms)
    running = [...running, ...fill(pace, ms)]
    assert.equal(running.length, 48)
  }
})

/** So many answers that took so long each. */
function answered(pace: Pace, from: number, count: number, tookMs: number): number {
  let at = from
  for (let n = 0; n < count; n++) pace.ended(pace.started(at), (at += tookMs))
  return at
}

test('where even the quick take long, slow is what takes longer still', () => {
  const pace = new Pace()
  const at = answered(pace, 0, 1_000, 40)
  fill(pace, at)
  assert.ok(!pace.admits(at + 100, false), 'no flood of sockets on a busy machine')
  assert.ok(pace.admits(at + 250, false))
})

test('many that dawdle do not make the quick wait', () => {
  const pace = new Pace()
  let at = 0
  for (let n = 0; n < 100; n++) at = answered(pace, answered(pace, at, 20, 49), 1, 1)
  fill(pace, at)
  assert.ok(pace.admits(at + 100, false))
})
