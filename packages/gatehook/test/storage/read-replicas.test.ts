/** `GATEHOOK_DATABASE_READ_URLS`: reads from a standby that contains what its caller knows. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { asAdmin, queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { type Caller, openService } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'
import { wallClock } from '../../src/kernel/clock.ts'

const scansOf = (table: string) => `SELECT idx_scan + seq_scan AS scans
  FROM pg_stat_user_tables WHERE relname = '${table}'`
const SCANS = scansOf('orders')
const SCANS_OF_USERS = scansOf('users')

test('a read uses a standby that contains all that its caller has written or seen', async (t) => {
  const { standby, url, readUrl } = await openPair(t)
  // The clock does not advance, so that the standby is not too old while it is paused.
  let elapsedMs = 0
  const clock = { ...wallClock, elapsedMs: () => elapsedMs }
  const env = { GATEHOOK_DATABASE_READ_URLS: readUrl }
  const node = await openService(t, 'postgres', { url, env, clock })
  const reader = node.as(await node.key())
  const newcomer = node.as(await node.key())
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  const order = { user_id: 1, amount: 1, currency: 'EUR' }
  const { body, headers } = await node.post('/api/v2/orders', order)
  assert.match(headers['gatehook-read-after']!, /^[0-9A-F]+\/[0-9A-F]+$/)
  const path = `/api/v2/orders/${body.id}`
  const amountFor = async (caller: Caller, more: Record<string, string> = {}) =>
    (await caller.get(path, more)).body.amount

  const scans = async () => (await queryAsAdmin(readUrl, SCANS).catch(() => []))[0]?.scans ?? 0
  const untilServedByStandby = async () => {
    const before = Number(await scans())
    const readAndCount = async () => {
      elapsedMs += 200
      assert.equal(await amountFor(reader), (await node.get(path)).body.amount)
      return Number(await scans())
    }
    await eventually(readAndCount, (count) => count > before)
  }
  await untilServedByStandby()

  await asAdmin(standby.url, 'SELECT pg_wal_replay_pause()')
  await asAdmin(url, 'UPDATE orders SET amount = 999')
  assert.equal(await amountFor(reader), 1, 'the standby serves it')
  const patched = await node.patch(path, { amount: 5 })
  assert.equal(patched.status, 200)
  const position = patched.headers['gatehook-read-after']!
  assert.equal(await amountFor(node), 5, 'the writer reads its own write')
  assert.equal(await amountFor(reader), 1)
  assert.equal(await amountFor(reader, { 'gatehook-read-after': position }), 5)
  assert.equal(await amountFor(reader), 5, 'a caller that has seen it never reads older rows')
  assert.equal((await newcomer.get(path)).body.amount, 1)
  elapsedMs += 11_000
  assert.equal(await amountFor(newcomer), 5, 'a standby that is 10 s old is left out')
  const malformed = await reader.get(path, { 'gatehook-read-after': 'yesterday' })
  assert.equal(malformed.status, 400)

  await asAdmin(standby.url, 'SELECT pg_wal_replay_resume()')
  await untilServedByStandby()
  await standby.halt('fast')
  const { status } = await reader.get(path)
  assert.equal(status, 200, 'without its standby the primary serves the read')
  await standby.start()
})

test('a read of an unlogged table, of which the standby has no rows, is repeated', async (t) => {
  const pair = await openPair(t)
  let elapsedMs = 0
  const clock = { ...wallClock, elapsedMs: () => elapsedMs }
  const env = { GATEHOOK_DATABASE_READ_URLS: pair.readUrl }
  const node = await openService(t, 'postgres', { url: pair.url, env, clock })
  const reader = node.as(await node.key())
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  await node.post('/api/v2/orders', { user_id: 1, amount: 1, currency: 'EUR' })
  await asAdmin(pair.url, 'ALTER TABLE orders SET UNLOGGED')
  await awaitReplay(pair)
  const scans = async () =>
    Number((await queryAsAdmin(pair.readUrl, SCANS_OF_USERS).catch(() => []))[0]?.scans ?? 0)
  const before = await scans()
  const readBoth = async () => {
    elapsedMs += 200
    assert.equal((await reader.get('/api/v2/orders/1')).body.amount, 1)
    assert.equal((await reader.get('/api/v2/users/1')).status, 200)
    return scans()
  }
  await eventually(readBoth, (count) => count > before)
  assert.equal((await reader.get('/api/v2/orders/1')).body.amount, 1)
})
