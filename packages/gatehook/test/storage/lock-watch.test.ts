/** §18.1: a statement has one limit for all of its waits for locks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { LockWait } from '../../src/platform/storage/lock-wait.ts'
import { createLockWatch } from '../../src/platform/storage/lock-watch.ts'

const transactionOf = (processId: number) => ({ processId })

test('a statement that waits for locks beyond its limit is ended', async (t) => {
  const ended: unknown[] = []
  const watch = createLockWatch(async ({ text, values }) => {
    const [processId, begun = `transaction ${processId}`] = values
    if (begun !== `transaction ${processId}`) return []
    if (text.includes('pg_cancel_backend')) ended.push(processId)
    return [{ begun }]
  }, quietLog)
  onEnd(t, watch.stop)
  const late = new LockWait()
  late.add(60_000) // its limit is the least time
  const young = new LockWait()
  const done = new LockWait()
  done.add(60_000)
  const running = Promise.withResolvers<void>()
  const all = [
    watch.follow(transactionOf(1), late, running.promise),
    watch.follow(transactionOf(2), young, running.promise),
    watch.follow(transactionOf(3), done, Promise.resolve()),
    watch.follow(transactionOf(4), undefined, running.promise),
  ]
  await eventually(
    async () => ended.length,
    (count) => count > 0,
  )
  assert.equal(ended[0], 1)
  assert.equal(late.isCancelled, true)
  running.resolve()
  await Promise.all(all)
  assert.ok(!ended.includes(3) && !ended.includes(4))
  assert.equal(done.isCancelled, false)
})

test('a statement counts as ended only while its transaction waits for a lock', async (t) => {
  const running = Promise.withResolvers<void>()
  const slow = new LockWait()
  const released = new LockWait()
  const pooled = new LockWait()
  const over = new LockWait()
  const isOver = Promise.withResolvers<void>()
  const cancelled: unknown[] = []
  let checks = 0
  const watch = createLockWatch(async ({ text, values: [processId, begun] }) => {
    if (text.includes('pg_cancel_backend')) {
      cancelled.push([processId, begun])
      return []
    }
    if (processId === 1) return []
    if (processId === 3) {
      isOver.resolve()
      await following
      checks++
    }
    return [{ begun: `transaction ${processId}` }]
  }, quietLog)
  onEnd(t, watch.stop)
  const waits = [slow, released, pooled, over]
  for (const wait of waits) wait.add(60_000)
  const all = [slow, released].map((wait, at) =>
    watch.follow(transactionOf(at + 1), wait, running.promise),
  )
  // Its process executes the transaction of another session now.
  const former = { processId: 4, begun: 'former transaction' }
  all.push(watch.follow(former, pooled, running.promise))
  const following = watch.follow(transactionOf(3), over, isOver.promise)
  await eventually(
    async () => checks,
    (count) => count > 0 && cancelled.length > 0,
  )
  for (const wait of waits) assert.equal(wait.isCancelled, false)
  assert.deepEqual(cancelled[0], [2, 'transaction 2'])
  assert.ok(!cancelled.flat().includes(3) && !cancelled.flat().includes(4))
  running.resolve()
  await Promise.all([...all, following])
})
