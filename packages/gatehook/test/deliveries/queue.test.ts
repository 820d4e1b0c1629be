/** Decision 0058: the queue has an entry for each pending delivery. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database, Tx } from '../../src/platform/storage/database.ts'
import { type Sql, sql } from '../../src/platform/storage/sql.ts'

const write = (db: Database, statement: Sql) => db.write((tx) => tx.run(statement))

const insert = (id: string, state: string, at: number | null) => (tx: Tx) =>
  tx.run(sql`INSERT INTO gh_deliveries
    (id, scope, webhook_no, event_id, event_type, version, state, next_attempt_at, created_at)
    VALUES (${id}, 10, 1, 'evt_1', 'a.b', 'v1', ${state}, ${at}, 0)`)

const queued = async (db: Database) =>
  (
    await db.arrays(sql`SELECT scope, webhook_no, next_attempt_at, id FROM gh_delivery_queue
    ORDER BY id, next_attempt_at`)
  ).map((cells) => cells.join(' '))

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
