/** Rows of secrets, replays and outcomes have the scope of their owner, on both databases. */
import assert from 'node:assert/strict'
import { eachMigrated } from '../../../../test/rig/databases.ts'
import type { Database } from '../../src/platform/storage/database.ts'
import { fillScopes } from '../../src/platform/storage/scopes-of-rows.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const insertOwner = (db: Database) =>
  db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_api_keys (id, scope, customer, mode, name, scopes, hint,
      created_at) VALUES ('key_1', 7, 'a', 'live', 'a', '[]', '', 1)`)
    await tx.run(sql`INSERT INTO gh_webhooks (id, tag, scope, url, events, api_version, created_at,
      updated_at) VALUES ('wh_1', 'tag', 7, '', '[]', '', 1, 1)`)
  })

/** Inserts rows as the previous release does, which knows no scope of them. */
const insertAsBefore = (db: Database) =>
  db.write(async (tx) => {
    await tx.run(sql`INSERT INTO gh_api_key_secrets (hash, key_id, created_at)
      VALUES (${new Uint8Array([1])}, 'key_1', 1), (${new Uint8Array([2])}, 'key_0', 1)`)
    await tx.run(sql`INSERT INTO gh_webhook_secrets (webhook_no, sealed, created_at)
      VALUES (1, ${new Uint8Array()}, 1)`)
    await tx.run(sql`INSERT INTO gh_webhook_replays (webhook_no, kind, since, types, position,
      until_id, count, started_at) VALUES (1, 'replay', 1, '[]', '', '', 1, 1)`)
    await tx.run(sql`INSERT INTO gh_webhook_outcomes (webhook_no, marks, hours, breaker, in_flight,
      newest_id, updated_at) VALUES (1, '[]', '[]', 'closed', 0, '', 1)`)
  })

const TABLES = ['api_key_secrets', 'webhook_secrets', 'webhook_replays', 'webhook_outcomes']

async function readScopes(db: Database): Promise<unknown[]> {
  const scopes: unknown[] = []
  for (const table of TABLES) {
    const text = `SELECT scope FROM gh_${table} ORDER BY scope`
    for (const row of await db.all({ sql: text, text, values: [] })) scopes.push(row.scope)
  }
  return scopes
}

eachMigrated('rows that the previous release inserts get the scope of their owner', async (db) => {
  await insertOwner(db)
  await insertAsBefore(db)
  const scopes = await readScopes(db)
  assert.deepEqual(scopes.filter((scope) => scope !== null).map(Number), [7, 7, 7, 7])
})

eachMigrated('a start fills the scopes of rows that earlier releases stored', async (db) => {
  await insertOwner(db)
  await insertAsBefore(db)
  await db.write(async (tx) => {
    for (const table of TABLES) {
      const text = `UPDATE gh_${table} SET scope = NULL`
      await tx.run({ sql: text, text, values: [] })
    }
  })
  await fillScopes(db)
  assert.deepEqual((await readScopes(db)).map(Number), [0, 7, 7, 7, 7], 'no owner: no customer')
})
