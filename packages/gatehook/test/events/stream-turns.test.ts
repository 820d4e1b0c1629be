/** A stream that reads all history gives way to other requests after each batch (§11.5). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Feed } from '../../src/events/feed.ts'
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
    placeOf: async () => ({ txid: 0, position: 0 }),
    async after(_scope, { position }) {
      reads++
      const place = { txid: 0, position: position + 1 }
      return { rows: [], place, more: position < BATCHES }
    },
  }
  const closed = new AbortController()
  const waits: Promise<void>[] = []
  const deps = {
    feed,
    bell: { wait: () => new Promise<void>(() => {}) },
    readableTypes: () => undefined,
    render: () => '',
    elapsedMs: () => 0,
    log: { warn: (fields: { err: Error }) => void waits.push(Promise.reject(fields.err)) },
  } as unknown as StreamDeps
  const { handle } = streamRoute(deps).methods.GET!
  const out: Stream = {
    write: () => true,
    drained: async () => {},
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
    await turn()
    assert.ok(reads - before <= n + 1, `${reads - before} batches in ${n} turns`)
  }
  assert.ok(reads - before >= 10, 'they go on')
  closed.abort()
  await Promise.all(waits)
})
