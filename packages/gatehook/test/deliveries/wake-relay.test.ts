/** Which wake-ups a node passes on to others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { createWakeRelay } from '../../src/outbound/deliveries/wake-relay.ts'
import type { Database } from '../../src/platform/storage/database.ts'

/** Returns a relay on a node that sends the deliveries of registrations below 10. */
function openRelay() {
  const notified: string[] = []
  const wakeUps: (readonly number[])[] = []
  const db = {
    dialect: { shared: true },
    notify: async (_: string, message: string) => void notified.push(message),
  } as unknown as Database
  const engine = {
    async wake(webhookNos: readonly number[]) {
      wakeUps.push(webhookNos)
      return webhookNos.filter((no) => no >= 10)
    },
  }
  const deps = { db, log: quietLog, node: 'a', engine, nudge: () => {} }
  return { notified, wakeUps, relay: createWakeRelay(deps) }
}

test('other nodes are notified only of deliveries that this node does not send', async () => {
  const { relay, notified } = openRelay()
  const resends = [1, 10].map((webhookNo) => ({ webhookNo, delivery: 'dlv_4' }))
  await relay.wake({ webhookNos: [1, 2], resends: [] })
  assert.deepEqual(notified, [])
  await relay.wake({ webhookNos: [1, 10], resends })
  assert.deepEqual(notified, ['10 10:dlv_4 @a'])
})

test('a node ignores its own message, and does not pass on those of others', async () => {
  const { relay, notified, wakeUps } = openRelay()
  await relay.receive('10 @a')
  assert.deepEqual(wakeUps, [])
  await relay.receive('10 @b')
  await relay.receive('11')
  assert.deepEqual(wakeUps, [[10], [11]])
  assert.deepEqual(notified, [])
})
