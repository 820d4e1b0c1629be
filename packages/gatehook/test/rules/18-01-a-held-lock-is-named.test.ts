/** §18.1: attention, readiness, metrics, log and doctor name a session that holds a lock. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { checkLocks } from '../../src/cli/doctor-installation.ts'
import type { Log } from '../../src/kernel/log.ts'
import { createLockHolders } from '../../src/operate/system/lock-holders.ts'
import {
  describeLockHolder,
  type LockHolder,
  listLockHolders,
  parseLockHolders,
} from '../../src/platform/storage/lock-holders.ts'
import { adminOf } from '../monitoring/admin.ts'

async function connect(t: TestContext, connectionString: string, application_name: string) {
  const client = new pg.Client({ connectionString, application_name })
  client.on('error', () => undefined)
  await client.connect()
  onEnd(t, () => client.end())
  return client
}

const VALUE = 'only-the-session-may-know-this'

test('a session that holds a lock is named without the values of its statement', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const service = await openService(t, 'postgres', { url })
  const admin = await adminOf(service)
  const db = await openForTest(t, url)
  await service.app.work()
  const holder = await connect(t, url, 'report')
  const { pid } = (await holder.query('SELECT pg_backend_pid() AS pid')).rows[0]
  await holder.query(`BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE; SELECT '${VALUE}'`)
  const reader = await connect(t, url, 'reader')
  const read = reader.query('SELECT count(*) FROM orders')
  const readItems = async () => {
    const { status, text, body } = await admin.get('/admin/attention')
    assert.equal(status, 200, text)
    return body.data.filter(({ kind }: { kind: string }) => kind === 'lock_held')
  }
  const [item] = await eventually(readItems, ({ length }) => length === 1)
  const { since, ...facts } = item.facts
  assert.deepEqual(
    [item.severity, item.subject.label, item.since],
    ['bad', `report (${pid})`, since],
  )
  assert.deepEqual(facts, {
    ...{ pid, application: 'report', node: null, user: 'postgres', state: 'idle in transaction' },
    ...{ statement: 'BEGIN', tables: ['orders'], waiting: 1, queue: null },
  })
  const probe = await service.as(undefined).get('/readyz')
  assert.equal(probe.status, 200)
  assert.match(probe.text, /"check":"locks","message":"Statements wait for the lock of another/)
  assert.doesNotMatch(probe.text, /report/, 'any caller reads probes')
  const { health } = (await admin.get('/admin/system')).body
  assert.match(JSON.stringify(health.warnings), new RegExp(`Session ${pid} .report, role postgres`))
  assert.match((await service.as(undefined).get('/metrics')).text, /gatehook_lock_holders 1\n/)
  const result = await checkLocks(db)
  assert.equal(result?.state, 'fail')
  assert.match(result.detail, /idle in transaction .* holds locks of orders, for which 1 statement/)
  assert.doesNotMatch(JSON.stringify([item, health, result]), new RegExp(VALUE))
  await holder.query('ROLLBACK')
  await read
  assert.equal((await checkLocks(db))?.state, 'ok')
})

test('statements that wait in a queue name the one that all wait for', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const holder = await connect(t, url, 'first')
  await holder.query("INSERT INTO gh_settings (name, value) VALUES ('one', '1')")
  await holder.query('BEGIN')
  await holder.query('UPDATE gh_settings SET value = value')
  const waiting = []
  for (const name of ['second', 'third']) {
    const client = await connect(t, url, name)
    waiting.push(client.query('UPDATE gh_settings SET value = value'))
  }
  const isNamed = async () => (await checkLocks(db))!.detail
  const detail = await eventually(isNamed, (text) => text.includes('2 statements wait'))
  assert.match(detail, /^Session \d+ \(first, .* after UPDATE, and holds locks of gh_settings, /)
  await holder.query('COMMIT')
  await Promise.all(waiting)
})

test('the oldest transaction that has written is named: streams wait for it', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const reader = await connect(t, url, 'reader')
  await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM gh_settings')
  assert.deepEqual(await listLockHolders(db, 0), [], 'a reader has no id')
  const names = ['first', 'second']
  const writers = []
  for (const name of names) {
    const writer = await connect(t, url, name)
    await writer.query('BEGIN; SELECT pg_current_xact_id()')
    writers.push(writer)
  }
  for (const [at, name] of names.entries()) {
    const [holder, ...others] = (await listLockHolders(db, 0))!
    assert.deepEqual([holder?.application, holder?.waiting, holder?.holdsStreams], [name, 0, true])
    assert.deepEqual(others, [])
    await writers[at]!.query('COMMIT')
  }
  assert.deepEqual(await listLockHolders(db, 0), [])
  assert.deepEqual(await listLockHolders(db), [], 'after 30 s only')
})

const HOLDER: LockHolder = {
  ...{ pid: 7, application: 'psql', user: 'ann', state: 'active', awaitsStandby: false },
  ...{ ageS: 64, statement: 'LOCK', tables: ['orders'], waiting: 2, holdsStreams: false },
  queued: null,
}

test('a session is logged once, and listed for ten seconds after its last statement', () => {
  const state = { now: 1_000_000, elapsedMs: 0 }
  const clock = { now: () => state.now, elapsedMs: () => state.elapsedMs }
  const lines: string[] = []
  const log = { warn: (_: object, line: string) => lines.push(line) } as unknown as Log
  const { polled, list } = createLockHolders({ db: { name: 'postgres' }, clock, log })
  const pass = (ms: number, holders: readonly LockHolder[]) => {
    state.now += ms
    state.elapsedMs += ms
    polled[0]!.receive(holders.length === 0 ? null : JSON.stringify(holders), 0)
    return list().map(({ pid, sinceMs }) => [pid, sinceMs])
  }
  const since = 1_000_000 - 64_000
  assert.deepEqual(pass(0, [HOLDER]), [[7, since]])
  assert.deepEqual(pass(1_000, [{ ...HOLDER, ageS: 65 }]), [[7, since]])
  assert.deepEqual(pass(10_000, []), [[7, since]])
  assert.deepEqual(lines, [describeLockHolder(HOLDER)])
  assert.deepEqual(pass(1, []), [])
  assert.deepEqual(createLockHolders({ db: { name: 'sqlite' }, clock, log }).polled, [])
})

test('a sentence says what the server lets the role know', () => {
  const hidden = { state: null, ageS: null, statement: null, user: null, application: '' }
  for (const [holder, sentence] of [
    [
      HOLDER,
      'Session 7 (psql, role ann) is active for 64 s after LOCK, and holds locks of orders, ' +
        'for which 2 statements wait.',
    ],
    [
      { ...HOLDER, awaitsStandby: true, waiting: 1 },
      'Session 7 (psql, role ann) waits for a synchronous standby for 64 s, and holds locks of ' +
        'orders, for which 1 statement waits.',
    ],
    [
      { ...HOLDER, ...hidden, pid: 0, tables: [] },
      'A prepared transaction holds a lock, for which 2 statements wait.',
    ],
    [
      { ...HOLDER, waiting: 0, holdsStreams: true },
      'Session 7 (psql, role ann) is active for 64 s after LOCK, and holds back the event ' +
        'streams of all customers until it ends.',
    ],
    [
      { ...HOLDER, application: 'gatehook api-1' },
      'Session 7 (gatehook api-1, role ann) is active for 64 s after LOCK, and holds locks of ' +
        'orders, for which 2 statements wait. It is of the node api-1.',
    ],
    [
      { ...HOLDER, application: 'gatehook api-1', state: 'idle in transaction', ageS: 2 },
      'Session 7 (gatehook api-1, role ann) is idle in transaction for 2 s after LOCK, and holds ' +
        'locks of orders, for which 2 statements wait. The node api-1 hangs, is overloaded or ' +
        'has lost its network, or its own code waits: the server ends the session once it is ' +
        'idle for 3 s. Restart that node if other sessions of it follow.',
    ],
  ] as const) {
    assert.equal(describeLockHolder(holder), sentence)
  }
  const [holder] = parseLockHolders(JSON.stringify([{ ...HOLDER, statement: 'HUNTER' }]))
  assert.equal(holder?.statement, null, 'a text that is no statement can be a secret')
})
