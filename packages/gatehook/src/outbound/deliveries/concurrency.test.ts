import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QuickAttempts } from './concurrency.ts'

const fill = (attempts: QuickAttempts, atMs: number, first = false) => {
  const starts = []
  while (attempts.admits(atMs, first)) starts.push(attempts.start(atMs))
  return starts
}

test('quick attempts are bounded; first attempts of customers have slots of their own', () => {
  const attempts = new QuickAttempts()
  assert.equal(fill(attempts, 0).length, 48)
  assert.equal(fill(attempts, 0, true).length, 32)
  assert.ok(!attempts.admits(0, true))
})

test('slow attempts occupy no slot, and free none when they end', () => {
  const attempts = new QuickAttempts()
  const slow = fill(attempts, 0)
  assert.ok(!attempts.admits(49, false))
  assert.equal(fill(attempts, 50).length, 48)
  for (const start of slow) attempts.end(start, 50)
  assert.ok(!attempts.admits(51, false))
})

test('each quick attempt that ends frees one slot', () => {
  const attempts = new QuickAttempts()
  let running = fill(attempts, 0)
  for (let ms = 1; ms < 5_000; ms++) {
    attempts.end(running.shift()!, ms)
    running = [...running, ...fill(attempts, ms)]
    assert.equal(running.length, 48)
  }
})

/** Runs `count` attempts of `tookMs` each, one after the other; returns when the last ended. */
function runAttempts(attempts: QuickAttempts, from: number, count: number, tookMs: number): number {
  let at = from
  for (let n = 0; n < count; n++) attempts.end(attempts.start(at), (at += tookMs))
  return at
}

test('while quick receivers take long, an attempt is slow only after a multiple of that', () => {
  const attempts = new QuickAttempts()
  const at = runAttempts(attempts, 0, 1_000, 40)
  fill(attempts, at)
  assert.ok(!attempts.admits(at + 100, false))
  assert.ok(attempts.admits(at + 250, false))
})

test('a few quick results outweigh many slower ones', () => {
  const attempts = new QuickAttempts()
  let at = 0
  for (let n = 0; n < 100; n++) at = runAttempts(attempts, runAttempts(attempts, at, 20, 49), 1, 1)
  fill(attempts, at)
  assert.ok(attempts.admits(at + 100, false))
})
