/**
 * §17.2: lists, cursors and replays follow the order of commits. However late a transaction
 * commits, no reader skips its event; a committed event is listed at once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import type { Caller } from '../../../../test/rig/service.ts'
import { emit, openEmitter } from '../storage/emitter.ts'
import { inSchema } from '../storage/team-database.ts'
import { LOCAL, openHook, register, replayed } from '../webhooks/hook.ts'

interface Page {
  readonly data: readonly { readonly id: string }[]
  readonly cursors: { readonly next: string | null; readonly prev: string | null }
}

type Poll = () => Promise<readonly string[]>

/**
 * Returns what polls a list towards newer events by its cursors, and returns the ids of all pages
 * so far, oldest first. `rel`: the cursor that leads there.
 */
async function follow(caller: Caller, path: string, rel: 'next' | 'prev'): Promise<Poll> {
  const get = async (cursor: string | null) => {
    const { status, body, text } = await caller.get(`${path}${cursor ? `&cursor=${cursor}` : ''}`)
    assert.equal(status, 200, text)
    const ids = (body as Page).data.map(({ id }) => id)
    return { ids: rel === 'next' ? ids : ids.reverse(), cursors: (body as Page).cursors }
  }
  const passed: string[] = []
  let cursor: string | null = null
  if (rel === 'prev') {
    // The first page is the newest one: the page after it has a cursor that leads back.
    let older = await get((await get(null)).cursors.next)
    cursor = older.cursors.prev
    for (;;) {
      passed.unshift(...older.ids)
      if (older.cursors.next === null) break
      older = await get(older.cursors.next)
    }
  }
  return async () => {
    for (;;) {
      const { ids, cursors } = await get(cursor)
      if (cursors[rel] === null) return [...passed, ...ids]
      passed.push(...ids)
      cursor = cursors[rel]
    }
  }
}

const LISTS = [
  ['/events?limit=2', 'next'],
  ['/events?limit=2&sort=-id', 'prev'],
  ['/events?limit=2&type=payment.posted', 'next'],
  ['/events?limit=2&sort=-id&type=payment.posted', 'prev'],
  ['/events?limit=2&type[in]=payment.posted,payment.failed', 'next'],
] as const

const followAll = (caller: Caller) =>
  Promise.all(LISTS.map(([path, rel]) => follow(caller, path, rel)))
const pollAll = (polls: readonly Poll[]) => Promise.all(polls.map((poll) => poll()))

const POSTED = { type: 'payment.posted', object: {} }

/** Opens a transaction of a node that has recorded events like another one. */
async function openRecording(
  url: string,
  ids: readonly string[],
  like: string,
): Promise<pg.Client> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`BEGIN`)
  for (const id of ids) {
    await client.query(
      `INSERT INTO one.gh_events (scope, id, type, shape, object, created)
       SELECT scope, $1, type, shape, object, created FROM one.gh_events WHERE id = $2`,
      [id, like],
    )
  }
  return client
}

test('cursors include events of a transaction that was open once, and delay none', async (t) => {
  const clients: pg.Client[] = []
  onEnd(t, () => Promise.all(clients.map((client) => client.end())))
  const { app, url } = await openEmitter(t)
  const live = app.as(await app.key({ mode: 'live' }))
  const all: string[] = []
  const post = async () => {
    const { body } = await live.post('/events', POSTED)
    all.push(body.id)
    return body.id as string
  }
  for (let n = 0; n < 5; n++) await post()
  // Three rows: a page of two ends between those of one transaction.
  const idsWith = (name: string) => [1, 2, 3].map((n) => all.at(-1)!.replace(/.{4}$/, name + n))
  const [late, other] = [idsWith('One'), idsWith('Two')]
  const polls = await followAll(live)
  const open = await openRecording(url, late, all[0]!)
  const second = await openRecording(url, other, all[0]!)
  clients.push(open, second)
  for (let n = 0; n < 7; n++) {
    const id = await post()
    const [newest] = (await live.get('/events?sort=-id&limit=1')).body.data
    assert.equal(newest.id, id)
    for (const ids of await pollAll(polls)) assert.deepEqual(ids, all)
  }
  await second.query('COMMIT')
  for (const ids of await pollAll(polls))
    assert.deepEqual(ids.toSorted(), [...all, ...other].toSorted())
  await open.query('COMMIT')
  const expected = [...all, ...other, ...late].toSorted()
  for (const ids of await pollAll(polls)) assert.deepEqual(ids.toSorted(), expected)
  // A walk from the beginning has each event once, in one order, in both directions.
  const walk = await (await follow(live, '/events?limit=3', 'next'))()
  assert.deepEqual(walk.toSorted(), expected)
  const numbered = (await live.get('/events?per_page=100')).body
  assert.deepEqual([numbered.data.map(({ id }: { id: string }) => id), numbered.total], [walk, 18])
})

test('an emitted event is listed after those that its transaction let pass', async (t) => {
  const { app, connect } = await openEmitter(t)
  const live = app.as(await app.key({ mode: 'live' }))
  await app.app.work()
  const all: string[] = []
  const post = async () => all.push((await live.post('/events', POSTED)).body.id)
  for (let n = 0; n < 3; n++) await post()
  const polls = await followAll(live)
  const client = await connect()
  await client.query('BEGIN')
  const late = await emit(client, 'payment.failed', {}, { customer: 'default' })
  for (let n = 0; n < 3; n++) await post()
  const byType = (path: string, ids: readonly string[]) =>
    path.includes('type=payment.posted') ? ids.filter((id) => id !== late) : ids
  const requirePages = async (expected: readonly string[]) => {
    for (const [at, ids] of (await pollAll(polls)).entries()) {
      assert.deepEqual(ids, byType(LISTS[at]![0], expected))
    }
  }
  await requirePages(all)
  await client.query('COMMIT')
  await eventually(
    () => live.get(`/events/${late}`),
    ({ status }) => status === 200,
  )
  await requirePages([...all, late])
  await post()
  await requirePages([...all.slice(0, -1), late, all.at(-1)!])
  // Ids have the time of the call, and a list within bounds of ids has their order.
  const { data } = (await live.get(`/events?id[gte]=${all[2]}&limit=2`)).body
  assert.deepEqual(
    data.map(({ id }: { id: string }) => id),
    [all[2], late],
  )
})

test('replay and recovery include an event by the time of its recording', async (t) => {
  const hook = await openHook(t)
  // The id has the time of the server, three hours before that of the node, at which nothing is
  // sent: deliveries use the time of the server.
  const clock = { now: () => Date.now() + 3 * 3_600_000, elapsedMs: () => performance.now() }
  const env = { ...inSchema('one'), ...LOCAL.env }
  const { app, connect, query } = await openEmitter(t, { clock, env })
  await app.app.work()
  const live = app.as(await app.key({ mode: 'live' }))
  const { id } = (await register(live, hook, { events: ['payment.*'] })).body
  const posted = (await live.post('/events', POSTED)).body.id
  const client = await connect()
  const emitted = await emit(client, 'payment.failed', {}, { customer: 'default' })
  const count = async () => (await query('SELECT 1 FROM one.gh_deliveries')).length
  await eventually(count, (rows) => rows === 2)
  /** Resends since an instant; returns the events whose deliveries are due again. */
  const resend = async (operation: string, state: string, sinceMs: number) => {
    await query(`UPDATE one.gh_deliveries SET state = '${state}'`)
    const since = new Date(sinceMs).toISOString()
    const reply = await live.post(`/webhooks/${id}/${operation}`, { since })
    assert.equal(reply.status, 202, reply.text)
    await replayed(live, id)
    const due = await query("SELECT event_id FROM one.gh_deliveries WHERE state = 'pending'")
    assert.equal(reply.body.count, due.length)
    return due.map(({ event_id }) => event_id).sort()
  }
  const both = [posted, emitted].sort()
  const hourAgo = clock.now() - 3_600_000
  assert.deepEqual(await resend('replay', 'delivered', hourAgo), both)
  assert.deepEqual(await resend('recover', 'failed', hourAgo), both)
  assert.deepEqual(await resend('replay', 'delivered', clock.now()), [])
  assert.deepEqual(await resend('recover', 'failed', clock.now()), [])
  // An event that was recorded seconds after its call is not in the index of late ones.
  const rows = await query(`UPDATE one.gh_events SET recorded_at = created * 1000 + 9000
    WHERE id = '${emitted}' RETURNING recorded_at`)
  const recordedAt = Number(rows[0]!.recorded_at)
  assert.deepEqual(await resend('replay', 'delivered', recordedAt - 4000), both)
  assert.deepEqual(await resend('replay', 'delivered', recordedAt + 1), [posted])
})
