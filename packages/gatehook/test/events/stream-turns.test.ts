/** §11.5: a stream that reads the whole history yields to other requests after each batch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Feed } from '../../src/events/feed.ts'
import { eventOperations } from '../../src/events/operations.ts'
import { type StreamDeps, streamRoute } from '../../src/events/stream.ts'
import type { Call, Stream } from '../../src/http/call.ts'
import { Query } from '../../src/http/query.ts'
import { scopeOf } from '../../src/kernel/principal.ts'

const STREAMS = 5
const BATCHES = 400

test('streams of one customer read at most one batch a turn of the event loop', async () => {
  let reads = 0
  const feed: Feed = {
    end: async () => ({ txid: 0, position: 0 }),
    cursorOf: async () => ({ txid: 0, position: 0 }),
    async after(_scope, { position }) {
      reads++
      const cursor = { txid: 0, position: position + 1 }
      return { rows: [], cursor, hasMore: position < BATCHES }
    },
  }
  const closed = new AbortController()
  const failures: Promise<void>[] = []
  const deps = {
    operations: eventOperations({ types: [], external: [] }),
    feed,
    eventSignal: { wait: () => new Promise<void>(() => {}) },
    readableTypes: () => undefined,
    render: () => '',
    elapsedMs: () => 0,
    log: { warn: (fields: { err: Error }) => void failures.push(Promise.reject(fields.err)) },
  } as unknown as StreamDeps
  const { handle } = streamRoute(deps).methods.GET!
  const out: Stream = {
    write: () => true,
    drained: async () => {},
    cut() {},
    end: () => {},
    closed: closed.signal,
  }
  const principal = { scope: scopeOf(1, 'test'), kind: 'key', subject: 'a', customer: 'cus_a' }
  for (let n = 0; n < STREAMS; n++) {
    const call = { principal, query: new Query([]), headers: {} } as unknown as Call
    const answer = await handle(call)
    answer.stream!(out)
  }
  const before = reads
  for (let n = 1; n <= 20; n++) {
    await nextTurn()
    assert.ok(reads - before <= n + 1, `${reads - before} batches in ${n} turns`)
  }
  assert.ok(reads - before >= 10, 'the streams continue')
  closed.abort()
  await Promise.all(failures)
})
