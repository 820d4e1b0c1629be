/** The priority of the thread of the monitoring file, by the CPU that its commands get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFilePace, FILE_PATIENCE_MS } from './file-pace.ts'

function openPace() {
  const meters = { ms: 0, cpuMs: 0 }
  const pace = createFilePace({ elapsedMs: () => meters.ms, cpuMs: () => meters.cpuMs })
  const pass = (ms: number, cpuMs = 0) => {
    meters.ms += ms
    meters.cpuMs += cpuMs
  }
  return { pace, pass }
}

test('a command that other programs hold up raises the priority for a minute', () => {
  const { pace, pass } = openPace()
  const command = pace.begin()
  pass(FILE_PATIENCE_MS)
  assert.equal(pace.isStarved(), false)
  command.noteSlow()
  assert.equal(pace.isStarved(), true)
  pass(59_999)
  assert.equal(pace.isStarved(), true)
  pass(1)
  assert.equal(pace.isStarved(), false)
})

test('a command beside a busy node leaves the priority: its requests come first', () => {
  const { pace, pass } = openPace()
  const command = pace.begin()
  pass(FILE_PATIENCE_MS, FILE_PATIENCE_MS / 2)
  command.noteSlow()
  assert.equal(pace.isStarved(), false)
})

test('a slow command keeps the priority, and raises none', () => {
  const { pace, pass } = openPace()
  const run = (ms: number, cpuMs = 0) => {
    const command = pace.begin()
    pass(ms, cpuMs)
    command.end()
  }
  run(400)
  assert.equal(pace.isStarved(), false)
  const command = pace.begin()
  pass(FILE_PATIENCE_MS)
  command.noteSlow()
  pass(50_000)
  run(100)
  pass(59_999)
  assert.equal(pace.isStarved(), true, 'the slow one began the minute again')
  run(99)
  assert.equal(pace.isStarved(), false)
})
