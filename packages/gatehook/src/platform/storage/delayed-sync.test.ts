/** A delayed sync covers every commit; after a failed sync no write is acknowledged. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDelayedSync } from './delayed-sync.ts'

test('one sync covers several commits; a commit during a sync causes another sync', async () => {
  let syncs = 0
  let during: (() => void) | undefined
  const delayedSync = createDelayedSync(async () => {
    syncs += 1
    during?.()
    during = undefined
  }, 1)
  await delayedSync.schedule()
  await delayedSync.schedule()
  assert.equal(syncs, 0, 'commits are acknowledged before the sync')
  during = () => void delayedSync.schedule()
  await delayedSync.finish()
  assert.equal(syncs, 2)
  await delayedSync.schedule()
  await delayedSync.finish()
  assert.equal(syncs, 3)
})

test('after a failed sync every commit is rejected', async () => {
  const delayedSync = createDelayedSync(() => Promise.reject(new Error('EIO')), 0)
  await delayedSync.schedule()
  await delayedSync.finish()
  await assert.rejects(delayedSync.schedule(), /EIO/)
})
