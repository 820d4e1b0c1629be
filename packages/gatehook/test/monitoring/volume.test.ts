/** §12.7: the request log is bounded in bytes, and a flood by strangers takes little of them. */
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { emptyFolder, onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { eachService, type Reply } from '../../../../test/rig/service.ts'
import { createMonitoringFile } from '../../src/operate/monitoring/file.ts'
import { positionAt } from '../../src/operate/monitoring/position.ts'
import type { RequestRecord } from '../../src/operate/monitoring/request-record.ts'
import { createRequestSampler } from '../../src/operate/monitoring/request-sampler.ts'
import { createRetention } from '../../src/operate/monitoring/retention.ts'
import { createSharedStore } from '../../src/operate/monitoring/shared-store.ts'
import { insertRequests } from '../../src/operate/monitoring/store.ts'
import { addVolume, bytesOfRecord } from '../../src/operate/monitoring/volume.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { adminOf, requestIdOf } from './admin.ts'

const MIB = 2 ** 20
const MAX_BYTES = 8 * MIB
/** The write-ahead log has this size at most, whatever the bound, which is 256 MiB at least. */
const WAL_BYTES = 10 * MIB
const FILE_PART = 1 - WAL_BYTES / (256 * MIB)
/** Between two requests. */
const STEP_MS = 50
const BATCH = 64
const START_MS = Date.UTC(2026, 10, 1)

function recordOf(n: number, exchange: string | null): RequestRecord {
  const id = `req_${String(n).padStart(16, '0')}`
  const caller = { customer: 'cus_default', mode: 'live', caller_kind: 'key', caller_name: 'k' }
  return {
    ...{ position: positionAt(START_MS + n * STEP_MS), id, method: 'GET', path: '/api/v2/orders' },
    ...{ route: '/api/orders', kind: 'api', stage: 3, status: 404, error: 'not_found', took_ms: 1 },
    ...caller,
    ...{ caller_id: null, key_id: `key_${n % 40}`, client_id: null, version: 'v2' },
    ...{ ip: '203.0.113.7', user_agent: 'curl/8', object: `orders/${n}`, event_ids: null },
    ...{ warnings: null, trace_id: null, cause: null, exchange },
  }
}

for (const [name, exchange, bytes] of [
  ['lines', null, 10 * MIB],
  ['requests with headers and bodies', 'ü'.repeat(4_000), 20 * MIB],
] as const) {
  test(`the file of a flood of ${name} never exceeds the bound`, {
    timeout: 300_000,
  }, async (t) => {
    const file = join(emptyFolder(t), 'log.db')
    const store = createMonitoringFile({ file, log: quietLog })
    onEnd(t, () => store.close())
    let [stored, storedBytes] = [0, 0]
    const retention = createRetention({
      ...{ store, retentionDays: 7, maxRows: 5_000_000, maxBytes: MAX_BYTES },
      clock: { now: () => START_MS + stored * STEP_MS, elapsedMs: () => stored },
      figures: () => ({ stored }),
      storedBytes: () => storedBytes,
    })
    let [largest, largestWal] = [0, 0]
    while (storedBytes < bytes) {
      const batch = Array.from({ length: BATCH }, (_, n) => recordOf(stored + n, exchange))
      await store.write([...insertRequests(batch), ...addVolume('n', batch)])
      stored += BATCH
      for (const record of batch) storedBytes += bytesOfRecord(record)
      await retention.purgeIfGrown()
      largest = Math.max(largest, statSync(file).size)
      largestWal = Math.max(largestWal, statSync(`${file}-wal`).size)
    }
    t.diagnostic(`${largest / MIB} MiB of ${MAX_BYTES / MIB}, and ${largestWal / MIB}`)
    assert.ok(largest <= MAX_BYTES * FILE_PART, `${largest} bytes`)
    assert.ok(largestWal <= WAL_BYTES, `${largestWal} bytes`)
    const [row] = await store.all<{ rows: number; newest: number }>({
      sql: 'SELECT count(*) AS rows, max(position) AS newest FROM gh_monitoring_requests',
      ...{ text: '', values: [] },
    })
    assert.equal(row!.newest, positionAt(START_MS + (stored - 1) * STEP_MS), 'the newest stay')
    const perRecord = bytesOfRecord(recordOf(stored, exchange))
    assert.ok(row!.rows * perRecord > MAX_BYTES / 2, 'no more than necessary leave')
  })
}

test('on PostgreSQL a purge by bytes deletes the oldest requests and their counts', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const main = await openForTest(t, url)
  const store = createSharedStore(() => openDatabase(url, { log: quietLog }), main)
  onEnd(t, () => store.close())
  let stored = 0
  const options = { retentionDays: 7, maxRows: 5_000_000, maxBytes: 4 * MIB }
  const retention = createRetention({
    ...{ store, ...options, clock: { now: () => START_MS, elapsedMs: () => stored } },
    figures: () => ({ stored }),
    storedBytes: () => 4 * MIB,
  })
  for (; stored < 32 * BATCH; stored += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, n) => recordOf(stored + n, 'x'.repeat(4_000)))
    await store.write([...insertRequests(batch), ...addVolume('n', batch)])
  }
  await retention.purgeIfGrown()
  const count = async (text: string) =>
    Number((await store.all({ sql: text, text, values: [] }))[0]!.n)
  const remaining = await count('SELECT count(*) AS n FROM gh_monitoring_requests')
  const bytes = await count('SELECT sum(bytes) AS n FROM gh_monitoring_volume')
  assert.ok(remaining > 0 && remaining * 4_000 < 3 * MIB, `${remaining} rows`)
  assert.ok(bytes <= 3 * MIB + 2_000 * 5_000 && bytes >= remaining * 4_000, `${bytes} bytes`)
})

test('a flood by strangers displaces no error of others', () => {
  const takes = createRequestSampler()
  for (const ms of [0, 1_000, 2_000, 3_000]) {
    let [strangers, errors] = [0, 0]
    for (let n = 0; n < 5_000; n++) {
      if (takes(ms, 'stranger')) strangers++
      if (n % 20 === 0 && takes(ms, 'error')) errors++
    }
    assert.equal(errors, 250)
    assert.ok(strangers <= 50 && strangers > 0, String(strangers))
  }
})

eachService(
  'of a stranger with 401, 403 or 429 the log has the line, of others headers and body',
  async (service) => {
    const admin = await adminOf(service)
    const header = { 'x-filler': 'a long header of a request' }
    const stranger = service.as(undefined)
    const reader = service.as(await service.key({ scopes: ['users:read'] }))
    const statuses = new Set<number>()
    const logged = async (reply: { status: number; headers: Record<string, string> }) => {
      statuses.add(reply.status)
      const { body, text } = await admin.get(`/admin/requests/${requestIdOf(reply)}`)
      assert.equal(body.status, reply.status)
      return text.includes(header['x-filler'])
    }
    const replies: Reply[] = []
    for (let n = 0; n < 22; n++) {
      const wrongKey = n === 1 ? { 'x-api-key': 'no key of this service' } : {}
      replies.push(
        await stranger.post('/api/v2/users', { name: 'Eve' }, { ...header, ...wrongKey }),
      )
    }
    for (const reply of [replies[0]!, replies[1]!, ...replies.slice(-2)]) {
      assert.equal(await logged(reply), false, String(reply.status))
    }
    assert.deepEqual([...statuses], [401, 403, 429])
    const refused = await reader.post('/api/v2/users', { name: 'Eve' }, header)
    assert.deepEqual([refused.status, await logged(refused)], [403, true])
  },
  { env: { GATEHOOK_RATE_LIMIT: '20/60' } },
)
