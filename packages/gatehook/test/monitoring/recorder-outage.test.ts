/** §12.7: while its store is away, the request log waits in memory, up to its bound. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { Failure } from '../../src/kernel/failure.ts'
import { RequestRecorder } from '../../src/operate/monitoring/recorder.ts'
import type { MonitoringStore } from '../../src/operate/monitoring/store.ts'
import type { Exchange } from '../../src/protocol/http/exchange.ts'

/** A store whose writes fail with an error, and a recorder that has one record a second. */
function openRecorder(error: () => Error | undefined) {
  let elapsedMs = 0
  let writes = 0
  const write = async (statements: readonly unknown[]) => {
    writes += 1
    const failure = error()
    if (failure) throw failure
    return statements.map(() => 1)
  }
  const recorder = new RequestRecorder({
    mode: 'all',
    store: { write, isAwake: () => true } as unknown as MonitoringStore,
    clock: { now: () => elapsedMs, elapsedMs: () => elapsedMs },
    log: quietLog,
    node: 'n',
    nextPosition: () => elapsedMs,
    recordsBodies: false,
    secretFields: new Set(),
    declaredKinds: new Map(),
    db: { fault: () => undefined },
  })
  const serve = (id: number) => {
    const head = { url: '/api/v2/orders' }
    const exchange = { id: `req_${id}`, head, headers: {}, warnings: [], eventIds: [], errors: [] }
    const rest = { method: 'GET', path: head.url, route: '/api/orders', kind: 'api', stage: 9 }
    recorder.observe({ ...exchange, ...rest } as unknown as Exchange, { status: 200 }, 1)
    elapsedMs += 1_000
  }
  return { recorder, serve, writes: () => writes }
}

test('an outage of minutes loses no record', async () => {
  let failure: Error | undefined = new Failure('storage_unavailable')
  const { recorder, serve } = openRecorder(() => failure)
  for (let n = 0; n < 300; n++) {
    serve(n)
    await assert.rejects(recorder.flush())
  }
  failure = undefined
  await recorder.flush()
  assert.deepEqual(recorder.figures(), { stored: 300, sampled: 0, dropped: 0 })
})

test('records that the store rejects are dropped after some attempts', async () => {
  const { recorder, serve } = openRecorder(() => new Error('a value cannot be stored'))
  serve(1)
  for (let n = 0; n < 30; n++) await recorder.flush().catch(() => undefined)
  assert.equal(recorder.figures().dropped, 1)
})

test('readers that wait for the log at once share a write, also one that fails', async () => {
  let failure: Error | undefined = new Failure('storage_unavailable')
  const { recorder, serve, writes } = openRecorder(() => failure)
  const flushAll = () => Promise.allSettled(Array.from({ length: 200 }, () => recorder.flush()))
  serve(1)
  const results = await flushAll()
  assert.ok(results.every(({ status }) => status === 'rejected'))
  assert.equal(writes(), 1)
  failure = undefined
  await flushAll()
  assert.equal(recorder.figures().stored, 1)
  assert.equal(writes(), 3, 'one of the record, and one of its counts')
})
