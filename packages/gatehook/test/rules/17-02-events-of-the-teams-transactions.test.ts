/**
 * §17.2: a transaction of the team emits an event if and only if it commits. Nodes record it with
 * the id that the function has returned, and it is then an event like others.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { event, f, fields, service } from '../../src/gatehook.ts'
import { createFeed } from '../../src/history/events/feed.ts'
import { findCustomer } from '../../src/identity/access/store.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { CHANNEL, STATE_CHANGED } from '../../src/outbound/deliveries/wake-up.ts'
import { JSON_NAMES_MAX, JSON_VALUES_MAX, measureJson } from '../../src/protocol/http/json-body.ts'
import { codeOf, emit, openEmitter } from '../storage/emitter.ts'
import { HEAD, inSchema } from '../storage/team-database.ts'

const PAID = { id: 'inv_1', total_cents: 1200 }
const DEFAULT = { customer: 'default' }

test('an event exists if and only if its transaction commits', async (t) => {
  const { app, connect } = await openEmitter(t)
  const live = app.as(await app.key({ mode: 'live' }))
  await app.app.work()
  const client = await connect()
  await client.query('BEGIN')
  await emit(client, 'invoice.paid', { ...PAID, id: 'rolled back' }, DEFAULT)
  await client.query('ROLLBACK')
  await client.query('BEGIN')
  const ids = [
    await emit(client, 'invoice.paid', PAID, DEFAULT),
    await emit(client, 'payment.failed', { reason: 'Überzogen 💸' }, DEFAULT),
  ]
  assert.equal((await live.get('/events')).body.data.length, 0)
  await client.query('COMMIT')
  const list = async () => (await live.get('/events?sort=id')).body.data
  const events = await eventually(list, ({ length }) => length === 2)
  assert.deepEqual(
    events.map((event: { id: string }) => event.id),
    ids,
  )
  assert.deepEqual(
    events.map((event: { type: string }) => event.type),
    ['invoice.paid', 'payment.failed'],
  )
  assert.deepEqual(events[0].data.object, PAID)
  assert.equal(events[1].data.object.reason, 'Überzogen 💸')
  assert.equal(events[0].livemode, true)
})

/** Without elapsed time the sweep, which finds all rows, runs at the start only. */
const clock = { now: Date.now, elapsedMs: () => 0 }

test('no open transaction delays an event, and one that commits late is recorded', async (t) => {
  const { app, connect, query } = await openEmitter(t, { clock })
  const live = app.as(await app.key({ mode: 'live' }))
  const [late, quick, reader] = [await connect(), await connect(), await connect()]
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
  await reader.query('SELECT 1')
  await late.query('BEGIN')
  const lateId = await emit(late, 'invoice.paid', PAID, DEFAULT)
  await app.app.work()
  const ids: string[] = []
  const list = async () =>
    (await live.get('/events?sort=id')).body.data.map(({ id }: { id: string }) => id)
  for (let at = 0; at < 3; at++) {
    ids.push(await emit(quick, 'invoice.paid', { ...PAID, id: `inv_${at}` }, DEFAULT))
    await eventually(list, ({ length }) => length === ids.length)
  }
  assert.deepEqual(await list(), ids)
  await late.query('COMMIT')
  await eventually(list, ({ length }) => length === 4)
  // Lists follow commits, whatever time the id has (decision 0103).
  assert.deepEqual(await list(), [...ids, lateId])
  const scope = scopeOf((await findCustomer(app.app.db, 'cus_default'))!.no, 'live')
  const positions = await query('SELECT id FROM one.gh_events ORDER BY position')
  assert.deepEqual(
    positions.map(({ id }) => id),
    [...ids, lateId],
  )
  assert.deepEqual(await query('SELECT no FROM one.gh_emissions'), [])
  const feed = createFeed(app.app.db, clock)
  const open = await connect()
  await open.query('BEGIN')
  await emit(open, 'invoice.paid', PAID, DEFAULT)
  const start = { txid: 0, position: 0 }
  // Tests share a server: a read decides that finds the same open transaction as the one before.
  const following = () => feed.after(scope, start)
  await eventually(following, ({ rows }) => rows.length === 4)
  await open.query('ROLLBACK')
})

test('a key adds one event for an object, and a second caller waits for the first', async (t) => {
  const { app, connect, query } = await openEmitter(t)
  const [first, second] = [await connect(), await connect()]
  const named = { ...DEFAULT, key: 'inv_1:paid' }
  await first.query('BEGIN')
  const id = await emit(first, 'invoice.paid', PAID, named)
  assert.equal(await emit(first, 'invoice.paid', PAID, named), id)
  const repeated = emit(second, 'invoice.paid', PAID, named)
  await first.query('COMMIT')
  assert.equal(await repeated, id)
  assert.equal(
    await codeOf(emit(second, 'invoice.paid', { ...PAID, total_cents: 1 }, named)),
    '22023',
  )
  assert.notEqual(await emit(second, 'payment.failed', PAID, named), id)
  await app.app.work()
  await eventually(
    () => query('SELECT id FROM one.gh_events'),
    ({ length }) => length === 2,
  )
  assert.equal(await emit(second, 'invoice.paid', PAID, named), id)
  assert.deepEqual(await query('SELECT DISTINCT object FROM one.gh_emissions'), [{ object: '' }])
  await query(`UPDATE one.gh_emissions SET created_at = created_at - 86400000`)
  assert.notEqual(await emit(second, 'invoice.paid', { ...PAID, total_cents: 1 }, named), id)
  await eventually(
    () => query('SELECT id FROM one.gh_events'),
    ({ length }) => length === 3,
  )
})

test('an object has at most the names and values that a body has', async (t) => {
  const { connect } = await openEmitter(t)
  const client = await connect()
  const named = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, 0]))
  const listOf = (length: number, item: unknown) => ({ list: Array.from({ length }, () => item) })
  const fits = (object: object): boolean => {
    try {
      return measureJson(Buffer.from(JSON.stringify(object))) !== undefined
    } catch {
      return false
    }
  }
  const objects: readonly (readonly [object, boolean])[] = [
    [named(JSON_NAMES_MAX), true],
    [named(JSON_NAMES_MAX + 1), false],
    [listOf(200, named(90)), true],
    [listOf(50, named(150)), true],
    [listOf(120, named(150)), false],
    [listOf(JSON_VALUES_MAX - 2, 0), true],
    [listOf(JSON_VALUES_MAX - 1, 0), false],
    [listOf(24_000, {}), true],
    [listOf(25_000, {}), false],
  ]
  for (const [at, [object, isAccepted]] of objects.entries()) {
    assert.equal(fits(object), isAccepted, `body ${at}`)
    const emitted = emit(client, 'payment.failed', object, DEFAULT)
    if (isAccepted) await emitted
    else await assert.rejects(emitted, /object has more than 50?,000 (names|values)/, `${at}`)
  }
})

test('equal numbers are the same object under a key, and texts are not', async (t) => {
  const { connect } = await openEmitter(t)
  const client = await connect()
  const idOf = async (object: string) => {
    const text = `SELECT one.gatehook_emit('payment.failed', $1, 'default', key => 'k') AS id`
    return (await client.query(text, [object])).rows[0].id
  }
  const id = await idOf('{"a": 1, "b": [0.5, 10, 1.25], "text": "1.0 \\" 2.0"}')
  assert.equal(await idOf('{"text": "1.0 \\" 2.0", "b": [0.50, 10.000, 1.250], "a": 1.0}'), id)
  for (const other of [
    '{"a": 1, "b": [0.5, 10, 1.25], "text": "1 \\" 2.0"}',
    '{"a": 10, "b": [0.5, 10, 1.25], "text": "1.0 \\" 2.0"}',
    '{"a": 1, "b": [0.05, 10, 1.25], "text": "1.0 \\" 2.0"}',
    '{"a": 1, "b": [0.5, 1, 1.25], "text": "1.0 \\" 2.0"}',
  ]) {
    assert.equal(await codeOf(idOf(other)), '22023', other)
  }
})

/** A clock that never advances: the poll of the node is not due. */
const still = { now: () => 0, elapsedMs: () => 0 }

test('a node that runs polls when a command announces the first grant', async (t) => {
  const { app, connect, grant, query, role } = await openEmitter(t, { clock: still })
  await query('DELETE FROM one.gh_emission_grants')
  await app.app.work()
  await grant()
  await app.app.db.notify(CHANNEL, STATE_CHANGED)
  await emit(await connect(role), 'invoice.paid', PAID, DEFAULT)
  const list = () => query('SELECT id FROM one.gh_events')
  await eventually(list, ({ length }) => length === 1)
})

test('an event that does not fit its declaration is held, and stops no other', async (t) => {
  const { app, connect, query, url } = await openEmitter(t)
  const client = await connect()
  const held = await emit(client, 'invoice.paid', { id: 'inv_1', total_cents: -1 }, DEFAULT)
  const id = await emit(client, 'invoice.paid', PAID, DEFAULT)
  await app.app.work()
  const list = () => query('SELECT id FROM one.gh_events')
  await eventually(list, ({ length }) => length === 1)
  assert.deepEqual(await list(), [{ id }])
  const [row] = await query('SELECT id, problem FROM one.gh_emissions WHERE held_at IS NOT NULL')
  assert.equal(row!.id, held)
  assert.equal(row!.problem, '/object/total_cents must be at least 0')
  const admin = app.as(await app.key({ mode: 'live', scopes: ['admin'] }))
  const [item] = (await admin.get('/admin/attention')).body.data
  assert.deepEqual([item.kind, item.subject.id], ['event_held', held])
  const total = f.int()
  const wider = event('invoice.paid', fields({ id: f.string().max(40), total_cents: total }))
  const next = await openService(t, 'postgres', {
    service: service({ ...HEAD, resources: [], externalEvents: [{ event: wider, from: ['sql'] }] }),
    url,
    env: inSchema('one'),
  })
  await next.app.work()
  await eventually(list, ({ length }) => length === 2)
  assert.deepEqual(await query('SELECT no FROM one.gh_emissions'), [])
})
