/** §18.1: a statement that waits for a table alone holds up this table only, and is named. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import pg from 'pg'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, openForTest } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { openService } from '../../../../test/rig/service.ts'
import { engineTables } from '../../src/engine-tables.ts'
import { listLockHolders } from '../../src/platform/storage/lock-holders.ts'
import { readPartitions, timeTable } from '../../src/platform/storage/partitions/catalog.ts'
import { readTableParts } from '../../src/platform/storage/table-parts.ts'
import { adminOf } from '../monitoring/admin.ts'

async function connect(t: TestContext, connectionString: string, application_name: string) {
  const client = new pg.Client({ connectionString, application_name })
  client.on('error', () => undefined)
  await client.connect()
  onEnd(t, () => client.end())
  const { pid } = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0]
  return { client, pid }
}

/** Holds a table as pg_dump does, and lets a migration wait for it. */
async function queueAt(t: TestContext, url: string, table: string) {
  const dump = await connect(t, url, 'pg_dump')
  await dump.client.query(`BEGIN; LOCK TABLE ${table} IN ACCESS SHARE MODE`)
  const migration = await connect(t, url, 'migration')
  const altered = migration.client.query(`ALTER TABLE ${table} ADD CHECK (true)`)
  altered.catch(() => undefined)
  const isWaiting = () =>
    dump.client.query('SELECT FROM pg_locks WHERE pid = $1 AND NOT granted', [migration.pid])
  await eventually(isWaiting, ({ rowCount }) => rowCount === 1)
  return { dump, migration, altered }
}

test('other tables are served beside a statement that waits for one', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const service = await openService(t, 'postgres', { url })
  const admin = await adminOf(service)
  await service.app.work()
  const { dump, migration, altered } = await queueAt(t, url, 'orders')
  const caller = service.as(await service.key())
  const order = caller.get('/api/v2/orders')
  const reader = await connect(t, url, 'reader')
  const read = reader.client.query('SELECT count(*) FROM orders')
  for (const path of ['/readyz', '/readyz?for=read']) {
    const probe = await service.as(undefined).get(path)
    assert.equal(probe.status, 200, probe.text)
  }
  assert.equal((await caller.get('/api/v2/users')).status, 200)
  const readItems = async () => {
    const { body } = await admin.get('/admin/attention')
    return body.data.filter(({ facts }: { facts: { queue?: unknown } }) => facts.queue)
  }
  const [item] = await eventually(readItems, ({ length }) => length === 1)
  assert.equal(item.subject.label, `pg_dump (${dump.pid})`)
  assert.equal(
    item.facts.queue,
    `ALTER of session ${migration.pid} (migration) waits for session ${dump.pid} (pg_dump), and ` +
      `all requests of orders wait behind it: SELECT pg_cancel_backend(${migration.pid}), or ` +
      `wait until session ${dump.pid} ends.`,
  )
  assert.match((await service.as(undefined).get('/readyz')).text, /"check":"locks"/)
  const { status, body } = await order
  assert.deepEqual([status, body.error], [503, 'storage_unavailable'])
  await dump.client.query('ROLLBACK')
  await Promise.all([altered, read])
})

test('a statement that waits for a table alone is the queue before others wait', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const { dump, migration, altered } = await queueAt(t, url, 'gh_api_keys')
  const holders = await eventually(
    async () => (await listLockHolders(db)) ?? [],
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    holders.map(({ pid, queued }) => [pid, queued?.pid, queued?.statement, queued?.waiting]),
    [[dump.pid, migration.pid, 'ALTER', 0]],
  )
  await dump.client.query('ROLLBACK')
  await altered
})

test('the catalog of a table that others wait for is read at once', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const db = await openForTest(t, url)
  const divided = engineTables.filter((table) => table.divided).map(timeTable)
  const [first] = divided
  const partitions = await readPartitions(db, first!)
  const names = engineTables.map(({ name }) => name)
  const read = () =>
    Promise.all([
      ...[readTableParts(db, names), readPartitions(db, first!)],
      ...[db.size('gh_settings'), db.size(first!.name)],
    ])
  const before = await read()
  for (const table of ['gh_settings', first!.name, partitions[0]!.name])
    await queueAt(t, url, table)
  const startMs = performance.now()
  const [parts, list] = await read()
  const tookMs = performance.now() - startMs
  assert.ok(tookMs < 1_000, `${Math.round(tookMs)} ms`)
  assert.deepEqual([parts, list], before.slice(0, 2))
})
