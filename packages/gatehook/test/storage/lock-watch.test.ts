/** §18.1: a statement has one limit for all of its waits for locks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { LockWait } from '../../src/platform/storage/lock-wait.ts'
import { createLockWatch } from '../../src/platform/storage/lock-watch.ts'

const WITHIN_MS = 30_000
const sessionOf = (processID: number) => ({ processID }) as never

test('a statement that waits for locks beyond its limit is ended', async (t) => {
  const ended: unknown[] = []
  const watch = createLockWatch(async ({ values }) => ended.push(...values), quietLog)
  t.after(watch.stop)
  const late = new LockWait()
  late.add(60_000) // its limit is the least time
  const young = new LockWait()
  const done = new LockWait()
  done.add(60_000)
  const running = Promise.withResolvers<void>()
  const all = [
    watch.follow(sessionOf(1), late, running.promise),
    watch.follow(sessionOf(2), young, running.promise),
    watch.follow(sessionOf(3), done, Promise.resolve()),
    watch.follow(sessionOf(4), undefined, running.promise),
  ]
  await eventually(
    async () => ended.length,
    (count) => count > 0,
    WITHIN_MS,
  )
  assert.equal(ended[0], 1)
  assert.equal(late.isCancelled, true)
  running.resolve()
  await Promise.all(all)
  assert.ok(!ended.includes(3) && !ended.includes(4))
  assert.equal(done.isCancelled, false)
})
