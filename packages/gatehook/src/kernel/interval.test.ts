import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import { startInterval } from './interval.ts'
import type { Log } from './log.ts'

function logOf() {
  const messages: string[] = []
  const log = { warn: (_fields: object, message: string) => messages.push(message) }
  return { log: log as unknown as Log, messages }
}

test('intervals pass without a run while one is in progress, and stop waits for it', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { log } = logOf()
  let runs = 0
  let finish = () => {}
  const run = () => {
    runs++
    return new Promise<void>((resolve) => {
      finish = resolve
    })
  }
  const stop = startInterval({ intervalMs: 10, run, log, failure: 'failed' })
  assert.equal(runs, 0)
  t.mock.timers.tick(30)
  assert.equal(runs, 1)
  finish()
  await immediate()
  t.mock.timers.tick(10)
  assert.equal(runs, 2)
  let isStopped = false
  const stopped = stop().then(() => {
    isStopped = true
  })
  await immediate()
  assert.equal(isStopped, false)
  finish()
  await stopped
  t.mock.timers.tick(100)
  assert.equal(runs, 2)
})

test('a run that throws or rejects is logged, and the next one takes place', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { log, messages } = logOf()
  let runs = 0
  const run = () => {
    if (++runs === 1) throw new Error('thrown')
    return Promise.reject(new Error('rejected'))
  }
  const stop = startInterval({ intervalMs: 10, run, log, failure: 'polling failed' })
  for (const expected of [1, 2]) {
    t.mock.timers.tick(10)
    await immediate()
    assert.equal(runs, expected)
  }
  assert.deepEqual(messages, ['polling failed', 'polling failed'])
  await stop()
})
