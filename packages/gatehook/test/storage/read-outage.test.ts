/** Reads from a standby while the primary is away (decision 0057). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { awaitReplay, openPair } from '../../../../test/rig/standby.ts'
import { wallClock } from '../../src/kernel/clock.ts'

test('while the primary is away, a standby serves reads for a bounded time', async (t) => {
  const { primary, standby, url, readUrl } = await openPair(t)
  let elapsedMs = 0
  const clock = { ...wallClock, elapsedMs: () => elapsedMs }
  const env = { GATEHOOK_DATABASE_READ_URLS: readUrl, GATEHOOK_RATE_LIMIT: '1000/60' }
  const node = await openService(t, 'postgres', { url, env, clock })
  const admin = node.as(await node.key({ scopes: ['admin'], mode: 'live' }))
  const revoked = node.as(await node.key({ name: 'revoked' }))
  const { data: keys } = (await admin.get('/admin/keys?limit=100')).body
  const { id: revokedId } = keys.find(({ name }: { name: string }) => name === 'revoked')
  assert.equal((await admin.delete(`/admin/keys/${revokedId}`)).status, 204)
  await node.post('/api/v2/users', { email: 'a@example.com', name: 'A' })
  const order = { user_id: 1, amount: 1, currency: 'EUR' }
  const path = `/api/v2/orders/${(await node.post('/api/v2/orders', order)).body.id}`

  await awaitReplay({ primary, standby })
  const countScans = async () => {
    elapsedMs += 200 // each read compares the standby with the primary
    assert.equal((await node.get(path)).status, 200)
    const [row] = await queryAsAdmin(readUrl, SCANS).catch(() => [])
    return Number(row?.scans ?? 0)
  }
  await eventually(countScans, (scans) => scans > 0)

  const statusOf = async (sent: Promise<{ status: number }>) => (await sent).status
  assert.equal(await statusOf(node.get('/readyz')), 200)
  await primary.halt('immediate')
  elapsedMs += 6_000 // cached keys and the result of the last trial write have expired
  assert.equal(await statusOf(node.get(path)), 200)
  assert.equal(await statusOf(node.get('/api/v2/orders')), 200)
  assert.equal(await statusOf(node.get('/readyz?for=read')), 200)
  assert.equal(await statusOf(node.get('/readyz')), 503)
  assert.equal(await statusOf(node.post('/api/v2/orders', order)), 503)
  assert.equal(await statusOf(node.patch(path, { amount: 2 })), 503)
  assert.equal(await statusOf(revoked.get(path)), 403)
  assert.equal(await statusOf(node.as(undefined).get(path)), 401)
  const later = { 'gatehook-read-after': 'FFFF/0' }
  assert.equal(await statusOf(node.get(path, later)), 503, 'the caller has seen newer rows')

  elapsedMs += 121_000
  assert.equal(await statusOf(node.get(path)), 503)
  assert.equal(await statusOf(node.get('/readyz?for=read')), 503)

  await primary.start()
  const create = async () => {
    elapsedMs += 200
    return statusOf(node.post('/api/v2/orders', order))
  }
  await eventually(create, (status) => status === 201)
  assert.equal(await statusOf(node.get(path)), 200)
})

const SCANS = `SELECT idx_scan + seq_scan AS scans FROM pg_stat_user_tables
  WHERE relname = 'orders'`
