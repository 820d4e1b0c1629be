/** §18.5: a start recognizes a dump that replaced the tables of the database in use. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { migratedUrl } from '../../../../test/rig/databases.ts'
import { queryAsAdmin } from '../../../../test/rig/postgres.ts'
import { openService } from '../../../../test/rig/service.ts'
import { readRestoreState } from '../../src/operate/restore/state.ts'

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
