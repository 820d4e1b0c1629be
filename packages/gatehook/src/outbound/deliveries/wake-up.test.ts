import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeWakeUp, encodeWakeUp } from './wake-up.ts'

test('a wake-up is the same after its way to another node', () => {
  const wakeUp = { webhookNos: [3, 12], resends: [{ webhookNo: 12, delivery: 'dlv_7a' }] }
  assert.equal(encodeWakeUp(wakeUp), '3 12 12:dlv_7a')
  assert.deepEqual(decodeWakeUp('3 12 12:dlv_7a'), wakeUp)
  assert.equal(encodeWakeUp({ ...wakeUp, from: '7f' }), '3 12 12:dlv_7a @7f')
  assert.deepEqual(decodeWakeUp('3 12 12:dlv_7a @7f'), { ...wakeUp, from: '7f' })
})

test('a message fits into a notification of PostgreSQL, and other text is ignored', () => {
  const nos = Array.from({ length: 2_000 }, (_, n) => 10_000_000_000 + n)
  const resends = nos.map((no) => ({ webhookNo: no, delivery: `dlv_${'7'.repeat(30)}` }))
  assert.ok(encodeWakeUp({ webhookNos: nos, resends, from: 'f'.repeat(32) }).length < 8_000)
  assert.deepEqual(decodeWakeUp(' x 1:7 :2 0'), { webhookNos: [], resends: [] })
})
