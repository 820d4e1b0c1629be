/** §11.5: the work of streams yields to other requests, and does not grow with their number. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { scopeOf } from '../../kernel/principal.ts'
import type { FeedCursor } from '../../platform/storage/commit-feed.ts'
import type { Tx } from '../../platform/storage/database.ts'
import type { StoredEvent } from './event.ts'
import { sharePages } from './shared-pages.ts'
import { createEventSignal } from './stream.ts'

const scope = scopeOf(1, 'test')
const after = (position: number): FeedCursor => ({ txid: 0, position })

test('streams of one customer read at most one page a turn of the event loop', async () => {
  let reads = 0
  const readPage = sharePages(async () => ++reads)
  let isClosed = false
  /** Reads from a position of its own: none is shared. */
  const stream = async (start: number) => {
    for (let position = start; !isClosed; position += 10) await readPage(scope, after(position))
  }
  const streams = Array.from({ length: 5 }, (_, n) => stream(n))
  for (let n = 1; n <= 20; n++) {
    await nextTurn()
    assert.ok(reads <= n + 1, `${reads} pages in ${n} turns`)
  }
  assert.ok(reads >= 10, 'the streams continue')
  isClosed = true
  await Promise.all(streams)
})

test('streams that request a page before its read begins share the read', async () => {
  const begun: FeedCursor[] = []
  const readPage = sharePages(async (_, position) => {
    begun.push(position)
    return { rows: begun.length }
  })
  const pages = await Promise.all(Array.from({ length: 20 }, () => readPage(scope, after(7))))
  assert.deepEqual(begun, [after(7)])
  assert.equal(new Set(pages).size, 1)
  await readPage(scope, after(7))
  assert.equal(begun.length, 2, 'a page is never older than its request')
  const others = [after(8), { ...after(8), lowestId: 'evt_1' }]
  await Promise.all(others.map((position) => readPage(scope, position)))
  await Promise.all([scope, scopeOf(1, 'live')].map((of) => readPage(of, after(9))))
  assert.equal(begun.length, 6)
})

test('a failed read fails for the streams that share it, and for no later one', async () => {
  let reads = 0
  const readPage = sharePages(async () => {
    if (++reads === 1) throw new Error('unavailable')
    return reads
  })
  const shared = [readPage(scope, after(1)), readPage(scope, after(1))]
  for (const page of shared) await assert.rejects(page, /unavailable/)
  assert.equal(await readPage(scope, after(1)), 2)
})

test('an event wakes the streams of its customer and mode alone', async () => {
  const signal = createEventSignal()
  const closed = new AbortController()
  const woken: string[] = []
  const scopes = {
    own: scope,
    'own, again': scope,
    live: scopeOf(1, 'live'),
    other: scopeOf(2, 'test'),
  }
  const waits = Object.entries(scopes).map(async ([name, of]) => {
    await signal.wait(of, 60_000, closed.signal)
    woken.push(name)
  })
  const actions: (() => void)[] = []
  const tx = { afterCommit: (action: () => void) => void actions.push(action) } as unknown as Tx
  await signal.sink(tx, { scope } as StoredEvent)
  await nextTurn()
  assert.deepEqual(woken, [], 'the transaction has not committed')
  for (const action of actions) action()
  await nextTurn()
  assert.deepEqual(woken.sort(), ['own', 'own, again'])
  closed.abort()
  await Promise.all(waits)
  assert.equal(woken.length, 4)
})
