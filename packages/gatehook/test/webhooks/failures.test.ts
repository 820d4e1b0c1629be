/** §9.10: the failures of a registration are listed from their own index. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { raw, sql } from '../../src/platform/storage/sql.ts'
import { LOCAL, openHook, register } from './hook.ts'

/** More than one page examines. */
const DELIVERIES = 25_000

const NUMBERS = {
  sqlite: `WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ${DELIVERIES})
    SELECT i FROM s`,
  postgres: `SELECT i FROM generate_series(1, ${DELIVERIES}) AS i`,
}

eachService(
  'failures before many successes are found, also when there are none',
  async (service, t) => {
    const { id } = (await register(service, await openHook(t))).body
    const { db } = service.app
    const row = (await db.get(sql`SELECT no, scope FROM gh_webhooks WHERE id = ${id}`))!
    await db.write((tx) =>
      tx.run(sql`INSERT INTO gh_deliveries
        (id, scope, webhook_no, event_id, event_type, version, state, failed, created_at,
          attempts)
        SELECT 'dlv_' || CAST(100000 + i AS TEXT), CAST(${row.scope} AS BIGINT),
          CAST(${row.no} AS BIGINT), 'evt_1', 'order.created', 'v1',
          CASE WHEN i <= 2 THEN 'failed' ELSE 'delivered' END, CASE WHEN i <= 2 THEN 1 END, 0, ''
        FROM (${raw(NUMBERS[db.name])}) AS numbers`),
    )
    await db.migrate((_, ddl) => ddl('ANALYZE'))
    const list = (query: string) => service.get(`/webhooks/${id}/deliveries?${query}`)
    const failed = await list('state=failed&limit=1')
    assert.equal(failed.status, 200)
    assert.deepEqual(failed.body.data[0].state, 'failed')
    const exhausted = await list('state=exhausted')
    assert.deepEqual([exhausted.status, exhausted.body.data], [200, []])
    const both = await list('state[in]=failed,exhausted')
    assert.equal(both.body.data.length, 2)
    const delivered = await list('state=delivered')
    assert.equal(delivered.body.data[0].state, 'delivered')
  },
  LOCAL,
)
