/** §18.10: a row that a trigger of the team discards is no success, and the cause is named. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { describeUnknownError } from '../../src/platform/storage/storage-failure.ts'

const TRIGGERS = {
  sqlite: (change: string) => [
    `CREATE TRIGGER ignored BEFORE ${change} ON users BEGIN SELECT RAISE(IGNORE); END`,
  ],
  postgres: (change: string) => [
    `CREATE FUNCTION ignored() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`,
    `CREATE TRIGGER ignored BEFORE ${change} ON users FOR EACH ROW EXECUTE FUNCTION ignored()`,
  ],
} as const

eachService(
  'a trigger that discards rows makes a creation fail with its cause',
  async (service) => {
    const { app, post, get } = service
    const create = (n: number) =>
      post('/api/v2/users', { name: `User ${n}`, email: `user${n}@example.com` })
    assert.equal((await create(1)).status, 201)
    const { total } = (await get('/api/v2/users?pagination=offset')).body
    await app.db.migrate(async (_tx, ddl) => {
      for (const text of TRIGGERS[app.db.name]('INSERT')) await ddl(text)
    })
    assert.equal((await create(2)).status, 500)
    const insert = sql`INSERT INTO users (scope, name, email, gh_folded_email, created_at)
    VALUES (1, 'a', 'a@b.example', 'a@b.example', 1)`
    const error = await app.db.write((tx) => tx.insert(insert)).catch((thrown: unknown) => thrown)
    assert.match(describeUnknownError(error) ?? '', /^A trigger of the database discards a row/)
    assert.equal((await get('/api/v2/users?pagination=offset')).body.total, total)
  },
)

eachService(
  'a trigger that discards changes makes updates and deletions fail',
  async ({ app, post, get, patch, delete: remove }) => {
    const created = await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
    const path = `/api/v2/users/${created.body.id}`
    for (const change of ['UPDATE', 'DELETE']) {
      await app.db.migrate(async (_tx, ddl) => {
        for (const text of TRIGGERS[app.db.name](change)) await ddl(text)
      })
      const reply = change === 'UPDATE' ? await patch(path, { name: 'Bo' }) : await remove(path)
      assert.equal(reply.status, 500, change)
      assert.deepEqual((await get(path)).body, created.body)
      await app.db.migrate(async (_tx, ddl) => {
        const isServer = app.db.name === 'postgres'
        await ddl(isServer ? 'DROP FUNCTION ignored() CASCADE' : 'DROP TRIGGER ignored')
      })
    }
    assert.equal((await remove(path)).status, 204)
    const types = (await get('/events?limit=20')).body.data.map(
      ({ type }: { type: string }) => type,
    )
    assert.deepEqual(
      types.filter((type: string) => /updated|deleted/.test(type)),
      types.filter((type: string) => type === 'user.deleted'),
    )
  },
)
