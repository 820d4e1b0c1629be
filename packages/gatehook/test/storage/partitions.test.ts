/** Events on PostgreSQL are partitioned by time: retention drops partitions (decision 0053). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, eachMigrated, quietLog } from '../../../../test/rig/databases.ts'
import { retention } from '../../src/deliveries/retention.ts'
import { createFeed } from '../../src/events/feed.ts'
import { findEvent, findNewestEventId } from '../../src/events/store.ts'
import { createTimeOrderedId, timeOfId } from '../../src/kernel/id.ts'
import { scopeOf } from '../../src/kernel/principal.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import type { Database, Statement } from '../../src/storage/database.ts'
import { migrateEngine } from '../../src/storage/migrate.ts'
import { migrations } from '../../src/storage/migrations.ts'
import { bodyTable, eventTable, readPartitions } from '../../src/storage/partitions/catalog.ts'
import { partitionTables } from '../../src/storage/partitions/conversion.ts'
import { startOfPeriod } from '../../src/storage/partitions/periods.ts'
import { extendPartitions } from '../../src/storage/partitions/upkeep.ts'
import { sql } from '../../src/storage/sql.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!
const DAY_MS = 86_400_000
const PERIOD_MS = 3 * DAY_MS
const startOf = (ms: number) => startOfPeriod(eventTable, ms)
const START_MS = startOf(Date.UTC(2026, 5, 1)) + DAY_MS
const scope = scopeOf(1, 'live')
const random = systemRandom()

const clockAt = (ms: number) => ({ now: () => ms, elapsedMs: () => 0 })

/** Opens a database that was created at `START_MS`. */
async function openAtStart(t: TestContext): Promise<Database> {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: clockAt(START_MS) })
  return db
}

async function addEvent(db: Database, atMs: number): Promise<string> {
  const id = createTimeOrderedId('evt_', atMs, random)
  const created = Math.floor(atMs / 1000)
  await db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_events (scope, id, type, shape, object, created)
      VALUES (${scope}, ${id}, 't.x', 'v1', '{}', ${created})`)
    await tx.run(sql`INSERT INTO gh_event_bodies (scope, event_id, version, body)
      VALUES (${scope}, ${id}, 'v1', '{}') ON CONFLICT (scope, event_id, version) DO NOTHING`)
  })
  return id
}

const purgeAt = (db: Database, ms: number) => retention(db, clockAt(ms)).events!()

const namesOf = async (db: Database) => (await readPartitions(db, eventTable)).map((p) => p.name)

const partitionOf = async (db: Database, id: string) =>
  (
    await db.get(sql`SELECT CAST(CAST(tableoid AS regclass) AS text) AS name FROM gh_events
    WHERE id = ${id}`)
  )?.name

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

const countRows = async (db: Database) => ({
  events: Number((await db.get(sql`SELECT count(*) AS total FROM gh_events`))!.total),
  bodies: Number((await db.get(sql`SELECT count(*) AS total FROM gh_event_bodies`))!.total),
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
  const end = await feed.end()
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

/** Opens a database of an earlier release, in which events are one table. */
async function openOld(t: TestContext): Promise<{ db: Database; ids: string[] }> {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: clockAt(START_MS), migrations: migrations.slice(0, -1) })
  const ids: string[] = []
  for (let day = 0; day < 5; day++) ids.push(await addEvent(db, START_MS - day * DAY_MS))
  await migrateEngine(db, { clock: clockAt(START_MS) })
  assert.deepEqual(await namesOf(db), [])
  return { db, ids }
}

const optionsAt = (ms: number) => ({ now: () => ms, log: quietLog })

const positionsOf = (db: Database) =>
  db.arrays(sql`SELECT position, id, txid FROM gh_events ORDER BY position`)

test('a table of an earlier release becomes the first partition', async (t) => {
  const { db, ids } = await openOld(t)
  await db.migrate((_tx, ddl) => ddl('GRANT SELECT ON gh_events TO PUBLIC'))
  const before = await positionsOf(db)
  assert.equal(await partitionTables(db, optionsAt(START_MS)), true)
  assert.deepEqual(await namesOf(db), ['gh_events_past', 'gh_events_future'])
  assert.deepEqual(await positionsOf(db), before)
  assert.deepEqual(await db.indexes('gh_events'), [
    'gh_events_feed',
    'gh_events_position',
    'gh_events_type',
  ])
  const added = await addEvent(db, START_MS)
  assert.equal(await partitionOf(db, added), 'gh_events_past')
  const positions = (await positionsOf(db)).map(([position]) => position as number)
  assert.equal(positions.at(-1), (before.at(-1)![0] as number) + 1)
  const checks = await db.all(sql`SELECT conname FROM pg_constraint
    WHERE contype = 'c' AND conrelid = 'gh_events_past'::regclass`)
  assert.deepEqual(checks, [])
  const grant = await db.get(sql`SELECT has_table_privilege('public', 'gh_events', 'SELECT') AS ok`)
  assert.ok(grant!.ok)
  await addEvent(db, START_MS + 14 * DAY_MS)
  await purgeAt(db, START_MS + 12 * DAY_MS)
  const names = await namesOf(db)
  assert.ok(names.length > 2, String(names))
  assert.equal(await purgeAt(db, START_MS + 30 * DAY_MS), ids.length + 1)
  assert.equal(await partitionTables(db, optionsAt(START_MS)), true)
})

test('an event that commits while its empty table is replaced is retained', async (t) => {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: clockAt(START_MS), migrations: migrations.slice(0, -1) })
  const empty = Promise.withResolvers<void>()
  const added = empty.promise.then(() => addEvent(db, START_MS))
  const meanwhile: Database = {
    ...db,
    migrate: (change, ...rest) =>
      db.migrate(
        (tx, ddl) => {
          const addFirst = async (text: string) => {
            if (/^(LOCK TABLE|CREATE INDEX).* gh_events /.test(text)) {
              empty.resolve()
              await added
            }
            await ddl(text)
          }
          return change(tx, addFirst)
        },
        ...rest,
      ),
  }
  await migrateEngine(meanwhile, { clock: clockAt(START_MS) })
  assert.ok(await findEvent(db, scope, await added))
  assert.deepEqual(await countRows(db), { events: 1, bodies: 1 })
})

test('a conversion that was killed resumes', async (t) => {
  const { db } = await openOld(t)
  const before = await positionsOf(db)
  const killed = new AbortController()
  const dying: Database = {
    ...db,
    async validateConstraint() {
      killed.abort()
      throw new Error('killed')
    },
  }
  const options = { ...optionsAt(START_MS), signal: killed.signal }
  await assert.rejects(partitionTables(dying, options), /killed/)
  await addEvent(db, START_MS + DAY_MS)
  assert.equal(await readBoundary(db), '2026-06-09')
  assert.equal(await partitionTables(db, optionsAt(START_MS + DAY_MS)), true)
  assert.deepEqual((await positionsOf(db)).slice(0, before.length), before)
  assert.equal((await readPartitions(db, bodyTable)).length, 2)
})

test('a conversion that resumes when its boundary is near begins again', async (t) => {
  const { db } = await openOld(t)
  const killed = new AbortController()
  const dying: Database = {
    ...db,
    async validateConstraint() {
      killed.abort()
      throw new Error('killed')
    },
  }
  const options = { ...optionsAt(START_MS), signal: killed.signal }
  await assert.rejects(partitionTables(dying, options), /killed/)
  const laterMs = START_MS + 9 * DAY_MS
  assert.equal(await partitionTables(db, optionsAt(laterMs)), true)
  const id = await addEvent(db, laterMs + 5 * DAY_MS)
  assert.equal(await partitionOf(db, id), 'gh_events_past')
})

test('a conversion whose check fails removes the check', async (t) => {
  const { db } = await openOld(t)
  const failing: Database = {
    ...db,
    async validateConstraint() {
      throw new Error('a row is beyond the boundary')
    },
  }
  await assert.rejects(partitionTables(failing, optionsAt(START_MS)), /boundary/)
  assert.equal(await readBoundary(db), undefined)
})

/** Returns the day of the CHECK on the former table. */
async function readBoundary(db: Database): Promise<string | undefined> {
  const row = await db.get(sql`SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
    WHERE conname = 'gh_events_before'`)
  if (!row) return undefined
  const id = /'([^']+)'/.exec(row.definition)![1]!
  return new Date(timeOfId(id)!).toISOString().slice(0, 10)
}
