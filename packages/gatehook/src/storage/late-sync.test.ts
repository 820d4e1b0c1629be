/** What is committed is synced a little later, all of it, and never after a sync that failed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lateSync } from './late-sync.ts'

test('one sync for all that was committed, another for what came while it ran', async () => {
  let syncs = 0
  let during: (() => void) | undefined
  const late = lateSync(async () => {
    syncs += 1
    during?.()
    during = undefined
  }, 1)
  await late.soon()
  await late.soon()
  assert.equal(syncs, 0, 'answered before')
  during = () => void late.soon()
  await late.done()
  assert.equal(syncs, 2)
  await late.soon()
  await late.done()
  assert.equal(syncs, 3)
})

test('after a sync that failed nothing is answered any more', async () => {
  const late = lateSync(() => Promise.reject(new Error('EIO')), 0)
  await late.soon()
  await late.done()
  await assert.rejects(late.soon(), /EIO/)
})
