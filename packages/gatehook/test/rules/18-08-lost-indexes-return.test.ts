/** §18.8: a start, and `gatehook migrate`, create the indexes that PostgreSQL has lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { asAdmin, queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'

/** Valid indexes that are not unique, with the tables and columns that they have. */
const READ = `SELECT indrelid::regclass::text AS "table",
    regexp_replace(pg_get_indexdef(indexrelid), '^CREATE INDEX \\S+', '') AS definition,
    CASE WHEN relispartition THEN '' ELSE relname END AS name
  FROM pg_index JOIN pg_class c ON c.oid = indexrelid
  WHERE NOT indisunique AND indisvalid AND relnamespace = 'public'::regnamespace
  ORDER BY 1, 2, 3`
const DROP = `DO $$ DECLARE name text; BEGIN FOR name IN SELECT indexrelid::regclass::text
    FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE NOT indisunique
    AND NOT relispartition AND relnamespace = 'public'::regnamespace
    AND indrelid IN (SELECT oid FROM pg_class WHERE relkind = 'p'
      UNION ALL SELECT oid FROM pg_class WHERE relkind = 'r' AND NOT relispartition)
  LOOP EXECUTE 'DROP INDEX ' || name; END LOOP; END $$`

test('all indexes that are not unique return, also on partitions', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const first = await openService(t, 'postgres', { url })
  const key = await first.key()
  const before = await queryAsAdmin(url, READ)
  assert.ok(before.length > 20)
  await asAdmin(url, DROP)
  const { body } = await first.as(undefined).get('/readyz')
  assert.match(body.warnings[0].message, /^An index of the database is lost, so that requests/)
  const second = await openService(t, 'postgres', { url, key })
  const ready: string[] = []
  await second.app.finishIndexes(
    () => {},
    (line) => ready.push(line),
  )
  assert.ok(ready.some((line) => /index gh_events_\w+ of table gh_events is ready/.test(line)))
  assert.deepEqual(await queryAsAdmin(url, READ), before)
  for (const node of [first, second]) {
    const { status, body } = await node.as(undefined).get('/readyz')
    assert.deepEqual([status, body.warnings ?? []], [200, []])
  }
  assert.equal(
    (await second.post('/api/v2/users', { name: 'A', email: 'a@b.example' })).status,
    201,
  )
})
