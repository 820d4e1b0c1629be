/** §11.5: a long transaction on SQLite lets other requests run between its statements. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLoopPauses } from './loop-pauses.ts'

test('a pause is due after work, and lets the event loop run', async () => {
  const clock = { ms: 0, elapsedMs: () => clock.ms }
  const pauses = createLoopPauses(clock)
  assert.equal(pauses.pauseIfDue(), undefined)
  clock.ms = 1_000
  let hasRun = false
  setImmediate(() => {
    hasRun = true
  })
  await pauses.pauseIfDue()
  assert.ok(hasRun)
  assert.equal(pauses.pauseIfDue(), undefined)
  clock.ms = 2_000
  pauses.begin()
  assert.equal(pauses.pauseIfDue(), undefined)
})
