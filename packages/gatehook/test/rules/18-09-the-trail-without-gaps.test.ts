/**
 * §18.9: `GET /admin/audit?after=SEQ` and `GET /admin/audit/stream` read the trail without gaps,
 * also rows of transactions that commit after later ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Caller,
  eachService,
  openService,
  type TestApp,
} from '../../../../test/rig/service.ts'
import { recordAudit } from '../../src/history/audit/store.ts'
import { listen } from '../events/listen.ts'
import { adminOf } from '../monitoring/admin.ts'

const readerOf = async (service: TestApp) =>
  service.as(await service.key({ mode: 'live', scopes: ['audit:read'] }))

const entryOf = (target: string) => ({
  actor: { kind: 'cli', id: 'test' } as const,
  action: 'customer.update',
  target,
})

const record = ({ app }: TestApp, target: string) =>
  app.db.write((tx) => recordAudit(tx, entryOf(target), app.administration))

interface Entry {
  readonly seq: number
  readonly target: string
}

/** Reads all pages after a place, as an archive does: each time after its last `seq`. */
async function readAfter(reader: Caller, start: number, limit = 2): Promise<Entry[]> {
  const entries: Entry[] = []
  for (;;) {
    const after = entries.at(-1)?.seq ?? start
    const { status, body, text } = await reader.get(`/admin/audit?after=${after}&limit=${limit}`)
    assert.equal(status, 200, text)
    entries.push(...body.data)
    if (!body.has_more) return entries
  }
}

eachService('a reader that continues after its last entry gets every one', async (service) => {
  const reader = await readerOf(service)
  for (const target of ['a', 'b', 'c', 'd', 'e']) await record(service, target)
  const entries = await readAfter(reader, 0)
  assert.deepEqual(
    entries.map(({ seq }) => seq),
    entries.map((_, at) => at + 1),
  )
  assert.deepEqual(
    entries.slice(-5).map(({ target }) => target),
    ['a', 'b', 'c', 'd', 'e'],
  )
  assert.deepEqual(await readAfter(reader, entries.length), [])
  const first = await reader.get('/admin/audit?after=2&limit=2')
  assert.deepEqual(
    first.body.data.map(({ seq }: Entry) => seq),
    [3, 4],
  )
  const next = await reader.get(
    first.headers.link!.match(/<[^>]*\/\/[^/]*(\/[^>]*)>; rel="next"/)![1]!,
  )
  assert.deepEqual(
    next.body.data.map(({ seq }: Entry) => seq),
    [5, 6],
  )
})

eachService('after excludes other orders, and is a whole number', async (service) => {
  const reader = await readerOf(service)
  for (const query of ['after=1&sort=-at', 'after=x', 'after=-1', 'after=1.5', 'after=1&after=2']) {
    assert.equal((await reader.get(`/admin/audit?${query}`)).status, 400, query)
  }
  assert.equal((await reader.get('/admin/audit?sort=-seq')).status, 200)
})

test('a row that commits late follows the rows that were read before [postgres]', async (t) => {
  const service = await openService(t, 'postgres')
  const { db, administration } = service.app
  const reader = await readerOf(service)
  let commit = () => {}
  const isRecorded = Promise.withResolvers<void>()
  const late = db.write(async (tx) => {
    await recordAudit(tx, entryOf('late'), administration)
    await tx.all({ sql: 'SELECT 1', text: 'SELECT 1', values: [] }) // sends the insert
    isRecorded.resolve()
    await new Promise<void>((resolve) => (commit = resolve))
  })
  await isRecorded.promise
  await record(service, 'early')
  const before = await readAfter(reader, 0).finally(() => commit())
  assert.equal(before.at(-1)!.target, 'early')
  await late
  const rest = await readAfter(reader, before.at(-1)!.seq)
  assert.deepEqual(
    rest.map(({ target }) => target),
    ['late'],
  )
})

eachService('the stream follows, resumes, and ends with its credential', async (service, t) => {
  const { app, key } = service
  const { url } = await app.listen()
  const secret = await key({ mode: 'live', scopes: ['audit:read'] })
  const path = '/admin/audit/stream'
  const first = await listen(t, url, secret, { path })
  assert.equal(first.headers.get('content-type'), 'text/event-stream')
  for (const target of ['a', 'b', 'c']) await record(service, target)
  const a = (await first.next())!
  assert.deepEqual([a.event.target, String(a.event.seq)], ['a', a.id])
  first.close()
  const targets = async (stream: Awaited<ReturnType<typeof listen>>) => [
    (await stream.next())!.event.target,
    (await stream.next())!.event.target,
  ]
  assert.deepEqual(await targets(await listen(t, url, secret, { path, after: a.id })), ['b', 'c'])
  const query = `?after=${a.event.seq - 1}`
  assert.deepEqual(await targets(await listen(t, url, secret, { path, query })), ['a', 'b'])
  for (const after of ['x', '-1', 'aud_1']) {
    assert.equal((await listen(t, url, secret, { path, after })).status, 400, after)
  }
  assert.equal((await listen(t, url, await key(), { path })).status, 403)
  const last = await listen(t, url, secret, { path })
  const admin = await adminOf(service)
  const { data } = (await admin.get('/admin/keys?sort=-created_at&limit=100')).body
  for (const { id, scopes } of data) {
    if (scopes.includes('audit:read')) await admin.delete(`/admin/keys/${id}`)
  }
  let entry = await last.next()
  while (entry) entry = await last.next() // the revocation itself may come first
  assert.equal(entry, undefined)
})
