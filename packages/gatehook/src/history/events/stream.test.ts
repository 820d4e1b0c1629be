/** §11.5: a stream takes its share for the events of other customers that it passes on SQLite. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog } from '../../kernel/log.ts'
import { BESIDE_OTHERS, startPace } from '../../kernel/pace.ts'
import { type Principal, scopeOf } from '../../kernel/principal.ts'
import { createShare } from '../../kernel/share.ts'
import type { Call, Stream } from '../../protocol/http/call.ts'
import { Query } from '../../protocol/http/query.ts'
import type { Feed } from './feed.ts'
import { eventOperations } from './operations.ts'
import { streamRoute } from './stream.ts'

/** Streams from the beginning of a feed, and returns the pauses beside another caller. */
async function pausesOf(readBatch: (n: number) => { passed: number; hasMore: boolean }) {
  const pauses: number[] = []
  const clock = { elapsedMs: () => 0 }
  const share = createShare({ clock, ...BESIDE_OTHERS, part: 0.1 })
  for (const owner of ['other', 'own']) share.note(owner)
  // The clock does not move, so that only the work counts.
  const resting = { ...share, restMs: () => 0 }
  const pause = async (ms: number) => void pauses.push(ms)
  const ended = Promise.withResolvers<void>()
  const closed = new AbortController()
  let batches = 0
  const cursor = { txid: 0, position: 0 }
  const feed = {
    cursorOf: async () => cursor,
    after: async () => ({ ...readBatch(batches++), rows: [], cursor }),
  } as unknown as Feed
  const route = streamRoute({
    operations: eventOperations({ types: [], external: [] }),
    feed,
    eventSignal: {
      sink: async () => {},
      wait: async () => closed.abort(),
    },
    render: () => '',
    readableTypes: () => undefined,
    elapsedMs: () => 0,
    log: createLog({ level: 'silent' }),
  })
  const principal = { kind: 'key', subject: 'key_1', scope: scopeOf(1, 'test') }
  const call = {
    principal: principal as unknown as Principal,
    headers: { 'last-event-id': 'evt_0000000000000000000000' },
    query: Query.empty,
    startPace: (isOfLong?: boolean, work = clock) =>
      startPace('own', resting, work, pause, isOfLong),
  } as unknown as Call
  const { stream } = await route.methods.GET!.handle(call)
  stream!({
    closed: closed.signal,
    write: () => true,
    drained: async () => {},
    cut: () => {},
    end: () => ended.resolve(),
  } as Stream)
  await ended.promise
  return { batches, pauses }
}

test('a stream from an old event rests for what it passes', async () => {
  const { batches, pauses } = await pausesOf((n) => ({ passed: 5_000, hasMore: n < 39 }))
  assert.equal(batches, 40)
  // 50 ms of work in parts of 2.5 ms; the first part only pauses.
  assert.equal(pauses.length, 20)
  assert.ok(pauses.slice(1).every((ms) => ms > 0))
})

test('a stream that waits for its own events has no rest', async () => {
  const { pauses } = await pausesOf((n) => ({ passed: 10, hasMore: n < 100 }))
  assert.deepEqual(pauses, [])
})
