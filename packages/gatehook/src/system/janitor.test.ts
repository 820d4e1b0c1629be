import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as immediate } from 'node:timers/promises'
import type { Clock } from '../kernel/clock.ts'
import type { Log } from '../kernel/log.ts'
import { startJanitor } from './janitor.ts'
import { JobLog } from './job-log.ts'

test('chores run every minute, and at once after a jump of the clock', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const log = { warn() {} } as unknown as Log
  let elapsed = 0
  let ahead = 0
  const clock: Clock = { now: () => elapsed + ahead, elapsedMs: () => elapsed }
  let rounds = 0
  const jobs = new JobLog()
  const stop = startJanitor({
    log,
    chores: { chore: async () => ++rounds },
    clock,
    jobs,
  })
  const pass = async (ms: number) => {
    for (const until = elapsed + ms; elapsed < until; ) {
      elapsed += 250
      t.mock.timers.tick(250)
      await immediate()
    }
  }
  await pass(59_750)
  assert.equal(rounds, 0)
  await pass(250)
  assert.equal(rounds, 1)
  ahead += 30 * 86_400_000
  await pass(1000)
  assert.equal(rounds, 2)
  ahead -= 45_000 // the clock seems frozen; real minutes count too
  await pass(60_000)
  assert.equal(rounds, 3)
  await stop()
  const [run] = jobs.list()
  assert.deepEqual([run?.name, run?.ok, run?.rows], ['chore', true, 3])
})
