/** Deliveries on PostgreSQL are partitioned by time: retention drops partitions (decision 0058). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases, quietLog } from '../../../../test/rig/databases.ts'
import { createTimeOrderedId } from '../../src/kernel/id.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { listUnusedEngineIndexes } from '../../src/platform/storage/engine-indexes.ts'
import { migrateEngine } from '../../src/platform/storage/migrate.ts'
import { migrations } from '../../src/platform/storage/migrations.ts'
import {
  deliveryTable,
  isPartitioned,
  readPartitions,
} from '../../src/platform/storage/partitions/catalog.ts'
import { partitionTables } from '../../src/platform/storage/partitions/conversion.ts'
import { startOfPeriod } from '../../src/platform/storage/partitions/periods.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!
const DAY_MS = 86_400_000
const START_MS = startOfPeriod(deliveryTable, Date.UTC(2026, 5, 1)) + DAY_MS
const random = systemRandom()

const clockAt = (ms: number) => ({ now: () => ms, elapsedMs: () => 0 })
const optionsAt = (ms: number) => ({ now: () => ms, log: quietLog })
const purgeAt = (db: Database, ms: number) => retention(db, clockAt(ms)).deliveries!()

async function openAtStart(t: TestContext): Promise<Database> {
  const db = await postgres.open(t)
  await migrateEngine(db, { clock: clockAt(START_MS) })
  return db
}

async function insert(db: Database, state: string, atMs: number, dueMs = atMs): Promise<string> {
  const id = createTimeOrderedId('dlv_', atMs, random)
  const nextAt = state === 'pending' ? dueMs : null
  await db.write((tx) =>
    tx.run(sql`INSERT INTO gh_deliveries
      (id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at)
      VALUES (${id}, 10, 1, 'evt_1', 'a.b', 'v1', ${state}, ${nextAt}, ${atMs})`),
  )
  return id
}

const states = async (db: Database) =>
  Object.fromEntries(
    (await db.arrays(sql`SELECT id, state FROM gh_deliveries ORDER BY id`)) as [string, string][],
  )

const queued = async (db: Database) =>
  (await db.arrays(sql`SELECT id FROM gh_delivery_queue ORDER BY id`)).flat()

test('retention drops a partition, and retains its exhausted deliveries', async (t) => {
  const db = await openAtStart(t)
  const delivered = await insert(db, 'delivered', START_MS)
  const exhausted = await insert(db, 'exhausted', START_MS)
  const pending = await insert(db, 'pending', START_MS)
  const postponed = await insert(db, 'pending', START_MS, START_MS + 60 * DAY_MS)
  const young = await insert(db, 'pending', START_MS + 20 * DAY_MS)
  const before = (await readPartitions(db, deliveryTable)).length
  await purgeAt(db, START_MS + 29 * DAY_MS)
  assert.equal((await states(db))[delivered], 'delivered')
  await purgeAt(db, START_MS + 34 * DAY_MS)
  const ended = { [exhausted]: 'exhausted', [pending]: 'exhausted', [postponed]: 'exhausted' }
  assert.deepEqual(await states(db), { ...ended, [young]: 'pending' })
  assert.deepEqual(await queued(db), [young])
  const names = (await readPartitions(db, deliveryTable)).map(({ name }) => name)
  assert.ok(names.length > before)
  const row = await db.get(sql`SELECT CAST(CAST(tableoid AS regclass) AS text) AS name
    FROM gh_deliveries WHERE id = ${pending}`)
  assert.equal(row?.name, 'gh_deliveries_past')
  await purgeAt(db, START_MS + 49 * DAY_MS)
  assert.equal((await states(db))[young], 'pending')
  await purgeAt(db, START_MS + 64 * DAY_MS)
  assert.deepEqual(await states(db), { [young]: 'exhausted' })
})

test('deliveries of an earlier release become the first partition', async (t) => {
  const db = await postgres.open(t)
  const former = migrations.filter(({ number }) => number < 61)
  await migrateEngine(db, { clock: clockAt(START_MS), migrations: former })
  const old = await insert(db, 'pending', START_MS)
  const failed = await insert(db, 'failed', START_MS)
  await db.write((tx) => tx.run(sql`INSERT INTO gh_delivery_nodes (id, beat) VALUES ('n', 1)`))
  await migrateEngine(db, { clock: clockAt(START_MS) })
  assert.deepEqual(await queued(db), [old])
  // The former indexes stay while a node of the earlier release runs.
  assert.equal(await partitionTables(db, optionsAt(START_MS)), false)
  await db.write((tx) => tx.run(sql`DELETE FROM gh_delivery_nodes`))
  await db.dropIndexes(await listUnusedEngineIndexes(db))
  assert.equal(await partitionTables(db, optionsAt(START_MS)), true)
  assert.ok(await isPartitioned(db, deliveryTable))
  const young = await insert(db, 'pending', START_MS + 8 * DAY_MS)
  assert.deepEqual(await queued(db), [old, young])
  await db.write((tx) =>
    tx.run(sql`UPDATE gh_deliveries SET state = 'delivered', next_attempt_at = NULL
      WHERE scope = 10 AND id IN (${old}, ${young})`),
  )
  assert.deepEqual(await queued(db), [])
  const failures = await db.arrays(sql`SELECT id FROM gh_deliveries WHERE failed = 1`)
  assert.deepEqual(failures, [[failed]])
})
