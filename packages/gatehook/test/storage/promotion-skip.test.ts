/** Ids skip ahead once for a promotion, however many connections notice it at the same time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import pg from 'pg'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { placeOf } from '../../src/platform/storage/postgres-place.ts'
import { createTimelineGuard } from '../../src/platform/storage/postgres-timeline.ts'

const CONNECTIONS = 8

test('connections that notice a promotion at once skip ids once', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const [server] = await queryAsAdmin(
    url,
    'SELECT system_identifier AS id FROM pg_control_system()',
  )
  const stored = JSON.stringify({ system: String(server!.id), timeline: 0 })
  await queryAsAdmin(
    url,
    `CREATE OR REPLACE FUNCTION gh_timeline() RETURNS TEXT LANGUAGE sql STABLE
      AS $$SELECT '${stored}'::text$$; SELECT setval('gh_customers_no_seq', 1000)`,
  )
  const clients = Array.from({ length: CONNECTIONS }, () => new pg.Client(url))
  await Promise.all(clients.map((client) => client.connect()))
  // Each of them knows the function before any of them replaces it, as connections in use do.
  for (const client of clients) await client.query('SELECT gh_timeline()')
  await Promise.all(
    clients.map((client) =>
      createTimelineGuard(quietLog, { place: placeOf({}) }).verify(client, true),
    ),
  )
  await Promise.all(clients.map((client) => client.end()))
  const [row] = await queryAsAdmin(url, "SELECT nextval('gh_customers_no_seq') AS id")
  assert.equal(Number(row!.id), 1_001_001)
})
