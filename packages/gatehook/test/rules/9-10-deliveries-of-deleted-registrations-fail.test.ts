/**
 * §9.10: pending deliveries of a deleted registration fail in the next purge, however many other
 * registrations were deleted before. Registrations are purged once they have no deliveries.
 */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import { retention } from '../../src/outbound/deliveries/retention.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const DAY_MS = 86_400_000
const NOW_MS = 100 * DAY_MS
const OTHERS = 1_100

/** Inserts registrations that were deleted at an instant; each has one delivery. */
async function insert(
  db: Database,
  scope: number,
  count: number,
  state: string,
  deletedAt: number,
) {
  const series = sql`WITH RECURSIVE series(n) AS
    (SELECT 1 UNION ALL SELECT n + 1 FROM series WHERE n < CAST(${count} AS BIGINT))`
  const next = state === 'pending' ? 1 : null
  const name = `${scope}x`
  await db.write(async (tx) => {
    await tx.run(sql`${series} INSERT INTO gh_webhooks
        (id, tag, scope, url, events, api_version, active, created_at, updated_at, deleted_at)
      SELECT CAST(${name} AS TEXT) || n, 't' || n, CAST(${scope} AS BIGINT), '',
        '[]', 'v1', 0, 0, 0,
        CAST(${deletedAt} AS BIGINT) FROM series`)
    await tx.run(sql`INSERT INTO gh_deliveries (id, scope, webhook_no, event_id, event_type,
        version, state, next_attempt_at, created_at)
      SELECT 'dlv_' || id, scope, no, 'evt_1', 'a.b', 'v1', CAST(${state} AS TEXT),
        CAST(${next} AS BIGINT), CAST(${NOW_MS} AS BIGINT)
      FROM gh_webhooks WHERE scope = ${scope}`)
  })
}

eachMigrated('the deliveries of a deleted registration fail in the next purge', async (db) => {
  await insert(db, 10, OTHERS, 'delivered', NOW_MS - 40 * DAY_MS)
  await insert(db, 12, 3, 'pending', NOW_MS - 1)
  const { registrations } = retention(db, { now: () => NOW_MS, elapsedMs: () => 0 })
  const states = async (scope: number) =>
    (
      await db.arrays(sql`SELECT state, failed, next_attempt_at FROM gh_deliveries
        WHERE scope = ${scope}`)
    ).map(String)
  assert.equal(await registrations!(), 0)
  assert.deepEqual(await states(12), ['failed,1,', 'failed,1,', 'failed,1,'])
  assert.ok((await states(10)).every((state) => state === 'delivered,,'))
  // The oldest ones have deliveries still, and delay no other.
  await db.write((tx) => tx.run(sql`DELETE FROM gh_deliveries WHERE scope = 12`))
  await db.write((tx) => tx.run(sql`UPDATE gh_webhooks SET deleted_at = 1 WHERE scope = 12`))
  await db.write((tx) => tx.run(sql`UPDATE gh_webhooks SET deleted_at = 0 WHERE scope = 10`))
  assert.equal(await registrations!(), 3)
})
