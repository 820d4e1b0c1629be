/** Decision 0058: the queue has an entry for each pending delivery, whichever release writes it. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { fillDeliveryQueue } from '../../src/platform/storage/delivery-queue.ts'
import {
  listMissingEngineIndexes,
  listUnusedEngineIndexes,
} from '../../src/platform/storage/engine-indexes.ts'
import { type Sql, sql } from '../../src/platform/storage/sql.ts'

const write = (db: Database, statement: Sql) => db.write((tx) => tx.run(statement))

/** Inserts a delivery as earlier releases do. */
const insert = (id: string, state: string, at: number | null) => (tx: Tx) =>
  tx.run(sql`INSERT INTO gh_deliveries
    (id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at)
    VALUES (${id}, 10, 1, 'evt_1', 'a.b', 'v1', ${state}, ${at}, 0)`)

const queued = async (db: Database) =>
  (
    await db.arrays(sql`SELECT scope, webhook_no, next_attempt_at, id FROM gh_delivery_queue
    ORDER BY id, next_attempt_at`)
  ).map((cells) => cells.join(' '))

const failures = async (db: Database) =>
  (await db.arrays(sql`SELECT id FROM gh_deliveries WHERE failed = 1 ORDER BY id`)).flat()

eachMigrated('an entry follows each change of the state and the time', async (db) => {
  await db.write(insert('dlv_a', 'pending', 100))
  await db.write(insert('dlv_b', 'delivered', null))
  assert.deepEqual(await queued(db), ['10 1 100 dlv_a'])
  await write(db, sql`UPDATE gh_deliveries SET next_attempt_at = 200 WHERE id = 'dlv_a'`)
  assert.deepEqual(await queued(db), ['10 1 200 dlv_a'])
  await write(db, sql`UPDATE gh_deliveries SET state = 'delivered', next_attempt_at = NULL`)
  assert.deepEqual(await queued(db), [])
  await write(db, sql`UPDATE gh_deliveries SET state = 'pending', next_attempt_at = 300`)
  assert.deepEqual(await queued(db), ['10 1 300 dlv_a', '10 1 300 dlv_b'])
  await write(db, sql`DELETE FROM gh_deliveries WHERE id = 'dlv_b'`)
  assert.deepEqual(await queued(db), ['10 1 300 dlv_a'])
})

eachMigrated('a failure of an earlier release is marked', async (db) => {
  await db.write(insert('dlv_a', 'pending', 100))
  await db.write(insert('dlv_b', 'failed', null))
  await write(
    db,
    sql`UPDATE gh_deliveries SET state = 'exhausted', next_attempt_at = NULL
    WHERE id = 'dlv_a'`,
  )
  assert.deepEqual(await failures(db), ['dlv_a', 'dlv_b'])
})

eachMigrated('rows of an earlier release enter the queue, once', async (db) => {
  await db.write(insert('dlv_a', 'pending', 100))
  await db.write(insert('dlv_b', 'exhausted', null))
  await db.write(insert('dlv_c', 'delivered', null))
  const entries = await queued(db)
  await write(db, sql`DELETE FROM gh_delivery_queue`)
  await write(db, sql`UPDATE gh_deliveries SET failed = NULL`)
  await fillDeliveryQueue(db)
  assert.deepEqual(await queued(db), [], 'the first start has filled it')
  await write(db, sql`DELETE FROM gh_settings WHERE name = 'delivery_queue_filled_to'`)
  await fillDeliveryQueue(db)
  assert.deepEqual([await queued(db), await failures(db)], [entries, ['dlv_b']])
})

eachMigrated('PostgreSQL updates the row of a successful attempt in place', async (db) => {
  if (db.name !== 'postgres') return
  await db.write(insert('dlv_a', 'pending', 100))
  const updates = await db.write(async (tx) => {
    await tx.run(sql`UPDATE gh_deliveries SET state = 'delivered', attempt = 1,
      next_attempt_at = NULL, attempts = '[]' WHERE id = 'dlv_a'`)
    return tx.arrays(sql`SELECT sum(pg_stat_get_xact_tuples_hot_updated(c.oid))
      FROM pg_class c WHERE relname LIKE 'gh_deliveries%'`)
  })
  assert.equal(Number(updates[0]![0]), 1)
})

const formerIndex = 'gh_deliveries_due ON gh_deliveries (webhook_no, next_attempt_at)'

eachMigrated('an index of earlier releases is dropped after their last node', async (db) => {
  assert.deepEqual(await listMissingEngineIndexes(db), [])
  assert.deepEqual(await listUnusedEngineIndexes(db), [])
  await db.migrate((_, ddl) => ddl(`CREATE INDEX ${formerIndex} WHERE state = 'pending'`))
  await write(db, sql`INSERT INTO gh_delivery_nodes (id, beat) VALUES ('n', 1)`)
  const whileItRuns = db.dialect.shared ? [] : ['gh_deliveries_due']
  assert.deepEqual(await listUnusedEngineIndexes(db), whileItRuns)
  await write(db, sql`UPDATE gh_delivery_nodes SET release = 61`)
  assert.deepEqual(await listUnusedEngineIndexes(db), ['gh_deliveries_due'])
})
