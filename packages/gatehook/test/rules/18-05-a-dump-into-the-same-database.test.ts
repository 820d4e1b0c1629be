/**
 * §18.5: a start recognizes a dump that replaced the tables of the database in use, and nodes that
 * run beside it stop.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { migratedUrl, quietLog } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import { hasPgbouncer, startPgbouncer } from '../../../../test/rig/pgbouncer.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { readRestoreState } from '../../src/operate/restore/state.ts'
import { ofTables, refuseReplaced } from '../../src/platform/storage/database-origin.ts'
import { primaryFaults } from '../../src/platform/storage/primary-fault.ts'

/** As `pg_restore --clean` leaves a table: of the same name, with another object id. */
const REPLACE = `CREATE TABLE replaced (LIKE gh_migrations INCLUDING ALL);
  INSERT INTO replaced SELECT * FROM gh_migrations;
  DROP TABLE gh_migrations;
  ALTER TABLE replaced RENAME TO gh_migrations`

test('tables that a dump has replaced are restored data; other starts are none', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const start = () => openService(t, 'postgres', { url, recognition: { isRestored: false } })
  for (const _start of [1, 2]) {
    const node = await start()
    assert.equal(await readRestoreState(node.app.db), undefined)
    await node.app.close()
  }
  await queryAsAdmin(url, REPLACE)
  const node = await start()
  const state = await readRestoreState(node.app.db)
  assert.deepEqual([state?.reason, state?.released_at], ['copy', null])
})

for (const isPooled of [false, true]) {
  const name = `nodes beside a dump stop, and name it${isPooled ? ', behind a pooler' : ''}`
  test(name, { skip: isPooled && !hasPgbouncer && 'needs PgBouncer' }, async (t) => {
    const direct = await migratedUrl(t, 'postgres')
    const pooler = isPooled ? await startPgbouncer(direct) : undefined
    onEnd(t, () => pooler?.stop())
    const url = pooler?.through(direct) ?? direct
    const env = isPooled ? { GATEHOOK_DATABASE_POOLER: 'transaction' } : {}
    const node = await openService(t, 'postgres', { url, env, log: quietLog })
    let count = 0
    const createUser = () =>
      node.post('/api/v2/users', { email: `user${++count}@example.com`, name: 'Ann' })
    assert.equal((await createUser()).status, 201)
    await queryAsAdmin(direct, REPLACE)
    await eventually(createUser, ({ status }) => status === 503)
    const rows = async () =>
      Number((await queryAsAdmin(direct, 'SELECT count(*) AS count FROM users'))[0]!.count)
    const before = await rows()
    await eventually(
      () => node.as(undefined).get('/readyz'),
      ({ text }) => text.includes(primaryFaults.restored),
    )
    assert.deepEqual([(await createUser()).status, await rows()], [503, before])
    assert.equal((await node.get('/api/v2/users')).status, 503)
    const { text } = await node.get('/metrics')
    assert.match(text, /^gatehook_database_fault\{fault="restored"\} 1/m)
  })
}

test('other work on a table of the engine is no restore', async (t) => {
  const url = await migratedUrl(t, 'postgres')
  const read = async () => (await queryAsAdmin(url, `SELECT ${ofTables('public')}`))[0]!.table
  const verify = async (table: string) => queryAsAdmin(url, refuseReplaced('public', table))
  const table = String(await read())
  await queryAsAdmin(url, 'ALTER TABLE gh_migrations ADD COLUMN note TEXT')
  await queryAsAdmin(url, 'VACUUM FULL gh_migrations')
  assert.deepEqual(await verify(table), [])
  await queryAsAdmin(url, REPLACE)
  await assert.rejects(verify(table), /gatehook: restored/)
})
