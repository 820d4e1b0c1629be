/** §18.1: after a write whose position a stuck pooler hides, replicas still serve its caller. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl, openForTest, quietLog } from '../../../../test/rig/databases.ts'
import { createReadAfter } from '../../src/identity/access/read-after.ts'
import { wallClock } from '../../src/kernel/clock.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { type ReplicaReads, withReplicas } from '../../src/platform/storage/replica-reads.ts'
import { storageUnavailable } from '../../src/platform/storage/transaction.ts'
import type { Call, Endpoint } from '../../src/protocol/http/call.ts'

const away = () => storageUnavailable(Object.assign(new Error('stuck'), { code: 'ETIMEDOUT' }))

test('the direct address tells the position that the pooler does not', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const pooled = { ...(await openForTest(t, url)), get: () => Promise.reject(away()) }
  const openDirect = () => openDatabase(url, { log: quietLog })
  const shared = { clock: wallClock, log: quietLog, outageMs: 0, open: [] }
  const { replicas, db } = withReplicas({ ...shared, primary: pooled, openDirect })
  t.after(() => db.close())
  assert.ok((await replicas.position()) > 0n)
  const without = withReplicas({ ...shared, primary: pooled })
  t.after(() => without.db.close())
  await assert.rejects(without.replicas.position(), { code: 'storage_unavailable' })
})

test('a caller whose position was not read gets the present one', async () => {
  let current: bigint | undefined
  const required: bigint[] = []
  const replicas: Pick<ReplicaReads, 'run' | 'position'> = {
    async run(after, body) {
      required.push(after)
      return { result: await body(), position: after }
    },
    async position() {
      if (current === undefined) throw away()
      return current
    },
  }
  const handle = async () => ({ status: 200 })
  const endpoint = { kind: 'api', methods: { GET: { handle }, POST: { handle } } }
  const wrapped = createReadAfter(replicas as ReplicaReads)(endpoint as unknown as Endpoint)
  const { GET, POST } = wrapped.methods as unknown as typeof endpoint.methods
  const call = { headers: {}, principal: { kind: 'key', keyId: '1' } } as unknown as Call
  const send = (operation: { handle: (call: Call) => Promise<unknown> }) => operation.handle(call)
  await send(POST)
  await send(GET)
  current = 7n
  await send(GET)
  assert.ok(required[0]! > 2n ** 63n, 'later than any position')
  assert.equal(required[1], 7n)
})
