/**
 * §11.5: bytes that a list encodes beyond 64 KiB are work of the caller's group, requests of others
 * run after each 64 KiB, and a group that rests builds such a page in its turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachService } from '../../../../test/rig/service.ts'
import { resourceCollection } from '../../src/declare/resources/table.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { backendGroup } from '../../src/kernel/caller-group.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import type { Call } from '../../src/protocol/http/call.ts'
import { createCallWork } from '../../src/protocol/http/call-work.ts'
import { createEgress } from '../../src/protocol/http/egress.ts'
import { Query } from '../../src/protocol/http/query.ts'
import type { View } from '../../src/protocol/lists/collection.ts'
import { readExportChunks } from '../../src/protocol/lists/export-rows.ts'
import { parseListQuery } from '../../src/protocol/lists/grammar.ts'
import {
  createWalk,
  type ListTask,
  readCursorPage,
  readKeysetPage,
  readNumberedPage,
} from '../../src/protocol/lists/page.ts'
import { start, talk } from '../http/rig.ts'
import { fill } from '../lists/rows.ts'

const notes = resource('notes', {
  fields: { id: f.id(), text: f.string().max(500) },
  list: { filter: ['text'], sort: ['id'] },
  access: { read: 'notes:read', create: false, update: false, delete: false },
  events: [],
})
const book = service({
  name: 'Book',
  versions: { v1: { released: '2025-06-01' } },
  resources: [notes],
})

const KIB = 1_024
const ITEM = `"${'x'.repeat(8 * KIB - 3)}"`
const ROWS = 100
const BYTES_PER_MS = 40_000

/** Counts the turns of the event loop. */
function watchLoop() {
  let turns = 0
  const next = () => {
    turns += 1
    handle = setImmediate(next)
  }
  let handle = setImmediate(next)
  return { turns: () => turns, stop: () => clearImmediate(handle) }
}

const isCharged = (ms: number) => Math.abs(ms - (ROWS * 8 * KIB - 64 * KIB) / BYTES_PER_MS) < 1e-6

eachService(
  'a page of each style is charged beyond 64 KiB, and lets others run after each 64 KiB',
  async ({ app: { db } }) => {
    const scope = await fill(db, 'notes', 2 * ROWS, { text: "'short'" })
    const collection = resourceCollection(notes.definition)
    const view = { fields: ['id', 'text'] } as unknown as View
    const reads = {
      'pagination=cursor': (task: ListTask) => readCursorPage(task, undefined),
      'pagination=keyset': readKeysetPage,
      'pagination=offset': readNumberedPage,
      'pagination=offset&text=short': readNumberedPage,
      'pagination=offset&offset=100': readNumberedPage,
    }
    for (const [query, read] of Object.entries(reads)) {
      const loop = watchLoop()
      const turnsOf: number[] = []
      let chargedMs = 0
      const share = { addWork: (_: unknown, ms: number) => (chargedMs += ms), restMs: () => 0 }
      const request = parseListQuery(
        Query.parse(`${query}&limit=${ROWS}`),
        collection,
        view,
        'cursor',
      )
      const page = await read({
        ...{ db, customer: 1, collection, request },
        rowScope: { scope, owner: undefined },
        work: createCallWork(1, share, { elapsedMs: () => 0 }),
        encode: () => {
          turnsOf.push(loop.turns())
          return ITEM
        },
      })
      loop.stop()
      assert.equal(page.items.length, ROWS, query)
      assert.ok(isCharged(chargedMs), `${query}: ${chargedMs} ms`)
      // Nine rows have more than 64 KiB.
      for (let n = 9; n < ROWS; n++) assert.ok(turnsOf[n]! > turnsOf[n - 9]!, `${query}: row ${n}`)
    }
  },
  { service: book },
)

eachService(
  'an export lets others run after each 64 KiB of a chunk',
  async ({ app: { db } }) => {
    const scope = await fill(db, 'notes', 300, { text: "'short'" })
    const collection = resourceCollection(notes.definition)
    const view = { fields: ['id', 'text'] } as unknown as View
    const request = parseListQuery(Query.parse(''), collection, view, 'cursor')
    const walk = createWalk({ collection, rowScope: { scope, owner: undefined }, request })
    const loop = watchLoop()
    const turnsOf: number[] = []
    // The first rows are small, so that the next chunk has many.
    const encode = () => {
      turnsOf.push(loop.turns())
      return turnsOf.length <= 8 ? '1' : ITEM
    }
    for await (const _ of readExportChunks(db, walk, encode, () => () => undefined));
    loop.stop()
    assert.equal(turnsOf.length, 300)
    for (let n = 17; n < 40; n++) assert.ok(turnsOf[n]! > turnsOf[n - 9]!, `row ${n}`)
  },
  { service: book },
)

test('a group that rests builds large pages in its turn, and small ones at once', async (t) => {
  const clock = { elapsedMs: () => 0 }
  const egress = createEgress(clock)
  const builds: string[] = []
  const handle = async (call: Call) =>
    call.buildResponse(false, async (work) => {
      builds.push(work.mostBytes === undefined ? 'at once' : 'in turn')
      await work.count(Number(call.query.get('bytes')))
      return { status: 204 }
    })
  const more = [
    { kind: 'public', path: '/list', methods: { GET: { authenticated: false, handle } } } as const,
  ]
  const rig = await start(t, { egress, trustProxy: '127.0.0.1', more })
  const buildsOf = async (address: string, bytes: number) => {
    builds.length = 0
    const head = [
      `GET /list?bytes=${bytes} HTTP/1.1`,
      ...['Connection: close', `X-Forwarded-For: ${address}`],
      ...['X-Forwarded-Proto: https', 'Host: api.example'],
    ]
    const [answer] = await talk(rig.port, `${head.join('\r\n')}\r\n\r\n`)
    assert.equal(answer!.status, 204)
    return [...builds]
  }
  egress.share.note('another customer')
  const [large, small] = [100 * KIB, 10 * KIB]
  assert.deepEqual(await buildsOf('192.0.2.1', large), ['at once'])
  assert.deepEqual(await buildsOf('192.0.2.1', small), ['at once'])
  assert.deepEqual(await buildsOf('192.0.2.1', large), ['at once', 'in turn'])
  // Addresses rest together, and no customer with them.
  assert.deepEqual(await buildsOf('192.0.2.2', large), ['at once', 'in turn'])
  assert.ok(egress.share.restMs(backendGroup(scopeOf(2, 'live'))) <= 0)
})
