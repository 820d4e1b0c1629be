/** Deliveries on PostgreSQL are partitioned by time: retention drops partitions (decision 0058). */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { migrateEngine } from '../../src/engine-tables.ts'
import { createTimeOrderedId } from '../../src/kernel/id.ts'
import { systemRandom } from '../../src/kernel/random.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import { deliveryTable } from '../../src/outbound/deliveries/tables.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { readPartitions } from '../../src/platform/storage/partitions/catalog.ts'
import { startOfPeriod } from '../../src/platform/storage/partitions/periods.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const postgres = databases.find(({ name }) => name === 'postgres')!
const DAY_MS = 86_400_000
const START_MS = startOfPeriod(deliveryTable, Date.UTC(2026, 5, 1)) + DAY_MS
const random = systemRandom()

const clockAt = (ms: number) => ({ now: () => ms, elapsedMs: () => 0 })
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
      (id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at,
       failed)
      VALUES (${id}, 10, 1, 'evt_1', 'a.b', 'v1', ${state}, ${nextAt}, ${atMs},
       ${state === 'exhausted' ? 1 : null})`),
  )
  return id
}

const states = async (db: Database) =>
  Object.fromEntries(
    (await db.arrays(sql`SELECT id, state FROM gh_deliveries ORDER BY id`)) as [string, string][],
  )

test('each partition is vacuumed early', async (t) => {
  const db = await openAtStart(t)
  await insert(db, 'exhausted', START_MS)
  for (const days of [0, 9, 34]) {
    await purgeAt(db, START_MS + days * DAY_MS)
    const options = await db.arrays(sql`SELECT DISTINCT CAST(c.reloptions AS text)
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = to_regclass('gh_deliveries')`)
    assert.deepEqual(options, [['{autovacuum_vacuum_scale_factor=0.02}']])
  }
})

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
