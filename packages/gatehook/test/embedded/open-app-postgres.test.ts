/** The option `database` of `gatehook/app`: an app on a new PostgreSQL database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from 'gatehook/app'
import { onEnd } from '../../../../test/rig/cleanup.ts'
import { freshUrl, quietLog } from '../../../../test/rig/databases.ts'
import { api } from '../../service/service.ts'
import { openDatabase } from '../../src/platform/storage/open.ts'
import { sql } from '../../src/platform/storage/sql.ts'

test('the option database has a new database of its own, which close drops', async (t) => {
  const database = await freshUrl(t, 'postgres')
  const server = await openDatabase(database, { log: quietLog })
  onEnd(t, () => server.close())
  const names = async () =>
    (await server.arrays(sql`SELECT datname FROM pg_database WHERE datname LIKE 'gatehook_test_%'`))
      .flat()
      .sort()
  const apps = await Promise.all([1, 2].map(() => openApp({ service: api, database, seed: true })))
  assert.equal((await names()).length, 2)
  for (const app of apps) {
    const headers = { 'x-api-key': await app.createKey() }
    const list = await app.request('/api/v2/users?pagination=page', { headers })
    assert.equal(list.status, 200)
    const { url } = await app.listen()
    assert.equal((await fetch(`${url}/api/v2/users`, { headers })).status, 200)
    await app.close()
  }
  assert.deepEqual(await names(), [])
  assert.deepEqual(await server.columns('gh_migrations'), [])
})

test('an address that is no server of PostgreSQL, or not reachable, is a sentence', async () => {
  const open = (database: string) => openApp({ service: api, database })
  await assert.rejects(open('sqlite:./x.db'), /postgres:\/\/USER@HOST\/DATABASE/)
  await assert.rejects(open('postgres://localhost:1/x'), /postgres:\/\/localhost:1\/x cannot/)
})

test('a failed start on PostgreSQL leaves no database behind', async (t) => {
  const database = await freshUrl(t, 'postgres')
  const open = openApp({ service: api, database, env: { GATEHOOK_RATE_LIMIT: 'many' } })
  await assert.rejects(open, /GATEHOOK_RATE_LIMIT/)
  const server = await openDatabase(database, { log: quietLog })
  onEnd(t, () => server.close())
  const text = sql`SELECT count(*) AS n FROM pg_database WHERE datname LIKE 'gatehook_test_%'`
  assert.equal((await server.get(text))!.n, 0)
})
