/** Events on PostgreSQL are partitioned by time: retention drops partitions (decision 0053). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { createFeed } from '../../src/history/events/feed.ts'
import { findEvent, findNewestEventId } from '../../src/history/events/store.ts'
import { eventTable } from '../../src/history/events/tables.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import type { Database, Statement } from '../../src/platform/storage/database.ts'
import { extendPartitions } from '../../src/platform/storage/partitions/upkeep.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  addEvent,
  clockAt,
  countRows,
  DAY_MS,
  namesOf,
  openAtStart,
  PERIOD_MS,
  partitionOf,
  purgeAt,
  readBoundary,
  START_MS,
  scope,
  startOf,
} from './time-partitions.ts'

/** Returns the database with a record of its statements. */
function record(db: Database): { db: Database; statements: Statement[] } {
  const statements: Statement[] = []
  const noting =
    (name: 'all' | 'get' | 'arrays') =>
    (statement: Statement): never => {
      statements.push(statement)
      return db[name](statement) as never
    }
  const write: Database['write'] = (change, options) =>
    db.write((tx) => {
      const run = (statement: Statement) => {
        statements.push(statement)
        return tx.run(statement)
      }
      return change({ ...tx, run } as typeof tx)
    }, options)
  const reads = { all: noting('all'), get: noting('get'), arrays: noting('arrays') }
  return { db: { ...db, ...reads, write }, statements }
}

interface PlanNode {
  readonly 'Relation Name'?: string
  readonly 'Actual Loops': number
  readonly 'Actual Rows': number
  readonly Plans?: readonly PlanNode[]
}

/** Returns the partitions that a statement reads, and those of them in which it finds rows. */
async function readPlan(db: Database, { text, values }: Statement) {
  const explained = { sql: '', text: `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values }
  const [row] = (await db.arrays(explained)) as unknown as [[{ Plan: PlanNode }[]]]
  const examined: string[] = []
  const nonEmpty: string[] = []
  const visit = (node: PlanNode) => {
    const name = node['Relation Name']
    if (name !== undefined && node['Actual Loops'] > 0) {
      examined.push(name)
      if (node['Actual Rows'] > 0) nonEmpty.push(name)
    }
    for (const inner of node.Plans ?? []) visit(inner)
  }
  visit(row[0][0]!.Plan)
  return { examined, nonEmpty }
}

test('expired partitions are dropped also when the next ones cannot be created', async (t) => {
  const db = await openAtStart(t)
  const id = await addEvent(db, START_MS)
  let calls = 0
  // Bodies are first: their missing partitions, their expired ones, then those of events.
  const migrate: Database['migrate'] = async (...args) => {
    calls += 1
    if (calls === 1 || calls === 3) throw new Error('the table is locked')
    return db.migrate(...args)
  }
  const failing = { ...db, migrate }
  const purge = retention(failing, clockAt(START_MS + 40 * DAY_MS)).events!
  await assert.rejects(purge, /the table is locked/)
  assert.equal(calls, 4)
  assert.equal(await partitionOf(db, id), undefined)
})

test('events stay while deliveries wait that did not get rows', async (t) => {
  const db = await openAtStart(t)
  const id = await addEvent(db, START_MS)
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_webhooks
      (no, id, tag, scope, url, events, api_version, active, created_at, updated_at)
      VALUES (1, 'wh_1', 't1', ${scope}, '', '[]', 'v1', 0, 0, 0)`)
    await tx.run(sql`UPDATE gh_events SET waits_for = 1, waiting_id = ${id.replace('evt', 'dlv')},
      waiting_version = 'v1'`)
  })
  const clock = clockAt(START_MS + 40 * DAY_MS)
  await retention(db, clock, 0).events!()
  assert.ok(await findEvent(db, scope, id))
  await retention(db, clock).events!()
  assert.equal(await findEvent(db, scope, id), undefined)
  const rows = await db.arrays(sql`SELECT event_id, state FROM gh_deliveries`)
  assert.deepEqual(rows, [[id, 'pending']])
})

test('a new database has partitions for the next days only', async (t) => {
  const db = await openAtStart(t)
  const expected = ['past', '20260531', '20260603', 'future'].map((end) => `gh_events_${end}`)
  assert.deepEqual(await namesOf(db), expected)
  assert.equal(await extendPartitions(db, eventTable, START_MS), false)
})

test('a row belongs to the period of its first millisecond, before and after all', async (t) => {
  const db = await openAtStart(t)
  const boundaryMs = startOf(START_MS) + PERIOD_MS
  const names: string[] = []
  for (const ms of [0, boundaryMs - 1, boundaryMs, START_MS + 400 * DAY_MS]) {
    names.push(await partitionOf(db, await addEvent(db, ms)))
  }
  const expected = ['past', '20260531', '20260603', 'future'].map((end) => `gh_events_${end}`)
  assert.deepEqual(names, expected)
})

test('retention drops a partition whose rows have all expired, and deletes none', async (t) => {
  const db = await openAtStart(t)
  const first = await addEvent(db, startOf(START_MS))
  const last = await addEvent(db, startOf(START_MS) + PERIOD_MS - 1)
  await addEvent(db, startOf(START_MS) + PERIOD_MS)
  for (let day = 0; day < 32; day++) await purgeAt(db, START_MS + day * DAY_MS)
  assert.ok(await findEvent(db, scope, last), 'an event is retained for 30 days')
  const endMs = startOf(START_MS) + PERIOD_MS + 30 * DAY_MS
  await purgeAt(db, endMs - 1)
  assert.ok(await findEvent(db, scope, first))
  const { db: recorded, statements } = record(db)
  await purgeAt(recorded, endMs)
  assert.deepEqual(
    statements.filter(({ text }) => /^(DELETE|UPDATE)/.test(text)),
    [],
  )
  const left = { events: 1, bodies: 1 }
  assert.deepEqual(await countRows(db), left)
  const names = await namesOf(db)
  assert.deepEqual([names[0], names[1]], ['gh_events_past', 'gh_events_20260603'])
  await addEvent(db, START_MS - DAY_MS)
  assert.deepEqual(await namesOf(db), names)
})

eachMigrated('expired rows outside of all periods are deleted', async (db) => {
  const now = Date.now()
  await addEvent(db, now - 40 * DAY_MS)
  await addEvent(db, now + 40 * DAY_MS)
  assert.equal(await purgeAt(db, now), 1)
  assert.deepEqual(await countRows(db), { events: 1, bodies: 1 })
  assert.equal(await purgeAt(db, now + 71 * DAY_MS), 1)
  assert.deepEqual(await countRows(db), { events: 0, bodies: 0 })
})

test('after days without a janitor, the rows meanwhile are a partition of their own', async (t) => {
  const db = await openAtStart(t)
  const lateMs = START_MS + 20 * DAY_MS
  const id = await addEvent(db, lateMs)
  await purgeAt(db, lateMs)
  assert.equal(await partitionOf(db, id), 'gh_events_20260606')
  await purgeAt(db, lateMs + DAY_MS)
  const newer = await addEvent(db, lateMs + PERIOD_MS)
  assert.match(await partitionOf(db, newer), /^gh_events_202606/)
  assert.deepEqual(await countRows(db), { events: 2, bodies: 2 })
})

test('a large last partition is attached without a scan under the lock', async (t) => {
  const db = await openAtStart(t)
  const lateMs = START_MS + 20 * DAY_MS
  const id = await addEvent(db, lateMs)
  const scans: number[] = []
  const oid = await db.get(sql`SELECT CAST('gh_events_future' AS regclass)::oid::bigint AS oid`)
  const counting: Database = {
    ...db,
    migrate: (change, ...rest) =>
      db.migrate(
        (tx, ddl) =>
          change(tx, async (text) => {
            const readScans = async () =>
              Number((await tx.get(sql`SELECT pg_stat_get_xact_numscans(${oid!.oid}) AS n`))!.n)
            const before = await readScans()
            await ddl(text)
            if (text.includes('ATTACH')) scans.push((await readScans()) - before)
          }),
        ...rest,
      ),
  }
  await extendPartitions(counting, eventTable, lateMs, 0)
  assert.deepEqual(scans, [0])
  assert.equal(await partitionOf(db, id), 'gh_events_20260606')
  assert.equal(await readBoundary(db), undefined)
  assert.equal(await partitionOf(db, await addEvent(db, lateMs + 40 * DAY_MS)), 'gh_events_future')
})

test('a row far ahead of the clock stays in the last partition', async (t) => {
  const db = await openAtStart(t)
  const id = await addEvent(db, START_MS + 400 * DAY_MS)
  await purgeAt(db, START_MS + 20 * DAY_MS)
  assert.equal(await partitionOf(db, id), 'gh_events_future')
})

test('partitions stay as they are during a move', async (t) => {
  const db = await openAtStart(t)
  await addEvent(db, START_MS)
  const before = await namesOf(db)
  await db.migrate((_tx, ddl) => ddl('CREATE TABLE gh_move (id int)'))
  await purgeAt(db, START_MS + 60 * DAY_MS)
  assert.deepEqual(await namesOf(db), before)
  assert.deepEqual(await countRows(db), { events: 1, bodies: 1 })
})

test('an event, a page and the feed are read from at most two partitions', async (t) => {
  const db = await openAtStart(t)
  let id = ''
  for (let day = 0; day < 30; day += 1) {
    const ms = START_MS + day * DAY_MS
    await purgeAt(db, ms)
    for (let n = 0; n < 4; n++) id = await addEvent(db, ms + n)
  }
  assert.ok((await namesOf(db)).length > 11)
  await db.migrate((_tx, ddl) => ddl('ANALYZE'))
  const { db: recorded, statements } = record(db)
  const feed = createFeed(recorded, clockAt(START_MS + 30 * DAY_MS))
  const readRecorded = async (read: () => Promise<unknown>) => {
    statements.length = 0
    await read()
    return readPlan(db, statements[0]!)
  }
  const single = await readRecorded(() => findEvent(recorded, scope, id))
  assert.equal(single.examined.length, 1)
  const cursor = (await feed.cursorOf(scope, id))!
  const next = await readRecorded(() => feed.after(scope, cursor))
  assert.ok(next.examined.length <= 3, `feed: ${next.examined}`)
  const end = await feed.end(scope)
  const last = await readRecorded(() => feed.after(scope, end))
  assert.ok(last.examined.length <= 3, `end of the feed: ${last.examined}`)
  const newest = await readRecorded(() => findNewestEventId(recorded, scope))
  assert.deepEqual(newest.nonEmpty.length, 1)
  for (const order of ['id', 'id DESC', "id DESC' by type"]) {
    const type = order.includes('type') ? "AND type = 't.x'" : ''
    const text = `SELECT id FROM gh_events WHERE scope = ${scope} ${type}
      ORDER BY ${order.split("'")[0]} LIMIT 7`
    const page = await readPlan(db, { sql: '', text, values: [] })
    assert.ok(page.nonEmpty.length <= 2, `${order}: ${page.nonEmpty}`)
    assert.ok(page.examined.length <= 5, `${order}: ${page.examined}`)
  }
})
