/** §18.8: a start, and `gatehook migrate`, create the indexes that the database has lost. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { asAdmin, queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService, type TestApp } from '../../../../test/rig/service.ts'
import { adminOf } from '../monitoring/admin.ts'

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

/** The indexes of a file that are not unique, and the statements that create them. */
const LIST = `SELECT i.name, s.sql FROM sqlite_schema t, pragma_index_list(t.name) i
  JOIN sqlite_schema s ON s.name = i.name
  WHERE t.type = 'table' AND i.origin = 'c' AND NOT i."unique" ORDER BY 1`
const listPlain = ({ app }: TestApp) => app.db.arrays({ sql: LIST, text: '', values: [] })
const warningsOf = async ({ as }: TestApp) =>
  (await as(undefined).get('/readyz')).body.warnings ?? []

test('all indexes of a SQLite file that are not unique are named, and return', async (t) => {
  const url = await migratedUrl(t, 'sqlite')
  const first = await openService(t, 'sqlite', { url })
  assert.deepEqual(await warningsOf(first), [])
  const before = await listPlain(first)
  assert.ok(before.length > 20)
  for (const [name, text] of before) {
    await first.app.db.migrate((_tx, ddl) => ddl(`DROP INDEX ${name}`))
    const [warning] = await warningsOf(first)
    assert.match(warning?.message ?? '', /^An index of the database is lost/, String(name))
    const { health } = (await (await adminOf(first)).get('/admin/system')).body
    const [, statement] = /Repair it: (CREATE INDEX .*)\.$/.exec(health.warnings[0].message)!
    assert.equal(statement, text)
    await first.app.db.migrate((_tx, ddl) => ddl(statement!))
    assert.deepEqual(await warningsOf(first), [])
  }
  await first.app.db.migrate(async (_tx, ddl) => {
    for (const [name] of before) await ddl(`DROP INDEX ${name}`)
  })
  assert.equal((await warningsOf(first)).length, 1)
  await first.app.close()
  const second = await openService(t, 'sqlite', { url })
  await second.app.finishIndexes(
    () => {},
    () => {},
  )
  assert.deepEqual(await listPlain(second), before)
  assert.deepEqual(await warningsOf(second), [])
})

test('a lost unique index of a SQLite file is named: equal values are stored', async (t) => {
  const service = await openService(t, 'sqlite')
  await service.app.db.migrate((_tx, ddl) => ddl('DROP INDEX users_unique_email'))
  const { health } = (await (await adminOf(service)).get('/admin/system')).body
  const [{ message }] = health.warnings
  assert.match(message, /^The unique index users_unique_email is lost or invalid: rows with equal /)
  assert.match(message, / Delete such rows before the repair\. Repair it: CREATE UNIQUE INDEX /)
})
