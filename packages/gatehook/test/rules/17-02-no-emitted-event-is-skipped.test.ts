/**
 * §17.2: an event exists if and only if its transaction commits: however late that is, whether the
 * role has lost its grant since then, and whatever another event does to the node. No migration
 * makes a call wait for more than 50 ms.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'

import type { TestApp } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { deleteGrant } from '../../src/outbound/emissions/grants.ts'
import { createEmissionRecorder } from '../../src/outbound/emissions/recorder.ts'
import { stopWrites } from '../../src/platform/storage/move/changes.ts'
import { describeTables } from '../../src/platform/storage/move/tables.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { listen } from '../events/listen.ts'
import { codeOf, emit, openEmitter } from '../storage/emitter.ts'

const PAID = { id: 'inv_1', total_cents: 1200 }
const DEFAULT = { customer: 'default' }

test('a stream passes an event that is recorded hours after its call', async (t) => {
  // The id has the time of the server, which is three hours before the time of the node.
  const clock = { now: () => Date.now() + 3 * 3_600_000, elapsedMs: () => performance.now() }
  const { app, connect } = await openEmitter(t, { clock })
  const { url } = await app.app.listen()
  await app.app.work()
  const client = await connect()
  const first = await emit(client, 'invoice.paid', PAID, DEFAULT)
  const live = await app.key({ mode: 'live' })
  const list = async () => (await app.as(live).get('/events')).body.data
  await eventually(list, ({ length }) => length === 1)
  const stream = await listen(t, url, live, { after: first })
  const posted = { type: 'payment.posted', object: {} }
  const { body } = await app.as(live).post('/events', posted)
  assert.equal((await stream.next())?.id, body.id)
  const late = await emit(client, 'invoice.paid', PAID, DEFAULT)
  assert.equal((await stream.next())?.id, late)
})

test('an event is recorded after its role has lost the grant', async (t) => {
  const { app, connect, query, role } = await openEmitter(t)
  const [done, open] = [await connect(), await connect()]
  const ids = [await emit(done, 'invoice.paid', PAID, DEFAULT)]
  await open.query('BEGIN')
  ids.push(await emit(open, 'invoice.paid', PAID, DEFAULT))
  await app.app.db.write((tx) => deleteGrant(tx, role))
  await app.app.work()
  const list = async () => (await query('SELECT id FROM one.gh_events')).map(({ id }) => id)
  await eventually(list, ({ length }) => length === 1)
  await open.query('COMMIT')
  await eventually(list, ({ length }) => length === 2)
  assert.deepEqual((await list()).sort(), ids.sort())
})

/** A recorder of the app's database that records by a function. */
const recorderWith = ({ app: { db } }: TestApp, record: unknown, isOfCustomer = true) =>
  createEmissionRecorder({
    db,
    clock: { now: Date.now, elapsedMs: () => 0 },
    log: quietLog,
    record: Object.assign(record as () => void, { announce }) as never,
    readObject: (_, object) => JSON.stringify(object),
    isDeclared: () => true,
    hasCustomer: async () => isOfCustomer,
    declaration: 'this',
  })
const announce = async (_tx: unknown, _scope: unknown, _event: unknown, origin: { id: string }) =>
  origin.id

test('a held event that fails again keeps no later one from another try', async (t) => {
  const { app, connect, query } = await openEmitter(t)
  const client = await connect()
  const ids: string[] = []
  for (const id of ['bad', 'good']) {
    ids.push(await emit(client, 'invoice.paid', { ...PAID, id }, DEFAULT))
  }
  await query("UPDATE one.gh_emissions SET held_at = 1, problem = 'of another declaration'")
  const recorded: string[] = []
  let tries = 0
  const record = async (_tx: unknown, _scope: unknown, { object }: { object: string }) => {
    tries++
    if (object.includes('bad')) throw new TypeError('a mistake of the program')
    recorded.push(object)
  }
  await recorderWith(app, record).run()
  assert.deepEqual([recorded.length, tries], [1, 2])
  assert.deepEqual(await query('SELECT id FROM one.gh_emissions'), [{ id: ids[0] }])
})

test('many events of one customer keep no event of another one waiting', async (t) => {
  const { app, connect } = await openEmitter(t)
  const client = await connect()
  await client.query("SELECT one.gatehook_customer('a', 'A'), one.gatehook_customer('b', 'B')")
  await client.query(`SELECT one.gatehook_emit('payment.failed', '{}', 'a')
    FROM generate_series(1, 400)`)
  const id = await emit(client, 'invoice.paid', PAID, { customer: 'b' })
  const recorded: string[] = []
  const record = async (_tx: unknown, _scope: unknown, _event: unknown, announced: string) => {
    recorded.push(announced)
  }
  await recorderWith(app, record).run()
  assert.equal(recorded.length, 401)
  const place = recorded.indexOf(id)
  assert.ok(place < 200, String(place))
})

test('an event of a deleted customer leaves nothing, and no key', async (t) => {
  const { app, connect, query } = await openEmitter(t)
  await emit(await connect(), 'invoice.paid', PAID, { ...DEFAULT, key: 'ada@example.com' })
  await recorderWith(app, () => assert.fail(), false).run()
  assert.deepEqual(await query('SELECT no FROM one.gh_emissions'), [])
})

test('a migration waits 50 ms for a transaction that emits, at each attempt', async (t) => {
  const { app, connect } = await openEmitter(t)
  const client = await connect()
  await client.query('BEGIN')
  await emit(client, 'invoice.paid', PAID, DEFAULT)
  const limits: unknown[] = []
  let waits = 0
  await app.app.db.migrate(
    async (tx, ddl) => {
      await ddl('ALTER TABLE gh_emissions ALTER COLUMN held_by SET STATISTICS 100')
      limits.push((await tx.get(sql`SELECT current_setting('lock_timeout') AS ms`))!.ms)
      await ddl('LOCK TABLE gh_emissions IN ACCESS EXCLUSIVE MODE')
    },
    (line) => {
      assert.match(line, /waits for a lock/)
      if (++waits === 3) void client.query('COMMIT')
    },
  )
  assert.ok(limits.length > 3)
  assert.deepEqual([...new Set(limits)], ['50ms'])
})

test('a transaction of the team fails with 55000 from the first stop of writes on', async (t) => {
  const { app, connect, query } = await openEmitter(t)
  const client = await connect()
  const refused = () => codeOf(emit(client, 'invoice.paid', PAID, { customer: 'default' }))
  assert.equal(await refused(), 'none')
  const tables = await describeTables(app.app.db, engineTables)
  await stopWrites(app.app.db, tables)
  assert.equal(await refused(), '55000')
  assert.equal((await query('SELECT no FROM one.gh_emissions')).length, 1)
})
