/** A table of events of an earlier release becomes a partition beside requests (decision 0053). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { quietLog } from '../../../../test/rig/databases.ts'
import { findEvent } from '../../src/history/events/store.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { migrateEngine } from '../../src/platform/storage/migrate.ts'
import { migrations } from '../../src/platform/storage/migrations.ts'
import { bodyTable, readPartitions } from '../../src/platform/storage/partitions/catalog.ts'
import { partitionTables } from '../../src/platform/storage/partitions/conversion.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import {
  addEvent,
  clockAt,
  countRows,
  DAY_MS,
  namesOf,
  partitionOf,
  postgres,
  purgeAt,
  readBoundary,
  START_MS,
  scope,
} from './time-partitions.ts'

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
  await addEvent(db, START_MS + 40 * DAY_MS)
  assert.equal(await purgeAt(db, START_MS + 39 * DAY_MS), ids.length + 1)
  const names = await namesOf(db)
  assert.ok(names.length > 2, String(names))
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

/** Returns the database of a node that ends while it validates the CHECK. */
const dyingNode = (db: Database, end: () => void): Database => ({
  ...db,
  async validateConstraint() {
    end()
    throw new Error('killed')
  },
})

/** A killed node, whose statements fail, leaves the CHECK. */
async function killConversion(db: Database): Promise<void> {
  let isDead = false
  const dying = dyingNode(db, () => {
    isDead = true
  })
  const migrate: Database['migrate'] = async (...args) =>
    isDead ? Promise.reject(new Error('killed')) : db.migrate(...args)
  await assert.rejects(partitionTables({ ...dying, migrate }, optionsAt(START_MS)), /killed/)
}

test('a conversion that was killed resumes, and rejects no event for weeks', async (t) => {
  const { db } = await openOld(t)
  const before = await positionsOf(db)
  await killConversion(db)
  const boundaryMs = Date.parse((await readBoundary(db))!)
  assert.ok(boundaryMs >= START_MS + 30 * DAY_MS)
  await addEvent(db, START_MS + 30 * DAY_MS - 1)
  assert.equal(await partitionTables(db, optionsAt(START_MS + DAY_MS)), true)
  assert.deepEqual((await positionsOf(db)).slice(0, before.length), before)
  assert.equal((await readPartitions(db, bodyTable)).length, 2)
})

test('a node that stops removes the check of its conversion', async (t) => {
  const { db } = await openOld(t)
  const stopping = new AbortController()
  const options = { ...optionsAt(START_MS), signal: stopping.signal }
  const dying = dyingNode(db, () => stopping.abort())
  await assert.rejects(partitionTables(dying, options), /killed/)
  assert.equal(await readBoundary(db), undefined)
})

test('a conversion that resumes when its boundary is near begins again', async (t) => {
  const { db } = await openOld(t)
  await killConversion(db)
  const laterMs = START_MS + 20 * DAY_MS
  assert.equal(await partitionTables(db, optionsAt(laterMs)), true)
  const id = await addEvent(db, laterMs + 29 * DAY_MS)
  assert.equal(await partitionOf(db, id), 'gh_events_past')
})

test('the boundary is after the highest id, also if the newest row has a lower one', async (t) => {
  const { db } = await openOld(t)
  const highest = await addEvent(db, START_MS + 90 * DAY_MS)
  await addEvent(db, START_MS)
  assert.equal(await partitionTables(db, optionsAt(START_MS)), true)
  assert.equal(await partitionOf(db, highest), 'gh_events_past')
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
