/** §18.10: response, event and later reads have the values that a trigger has stored. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

const TRIGGERS = {
  postgres: [
    `CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql
       AS 'BEGIN NEW.name := upper(NEW.name); RETURN NEW; END'`,
    'CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON users FOR EACH ROW EXECUTE FUNCTION shout()',
  ],
  sqlite: ['INSERT', 'UPDATE OF name'].map(
    (change, at) =>
      `CREATE TRIGGER shout${at} AFTER ${change} ON users BEGIN
         UPDATE users SET name = upper(name) WHERE scope = NEW.scope AND id = NEW.id; END`,
  ),
} as const

eachService('a trigger that changes values changes response and event', async (service) => {
  const { app, get, post, patch } = service
  const usual = await post('/api/v2/users', { name: 'Ann', email: 'ann@example.com' })
  assert.equal(usual.body.name, 'Ann')
  await app.db.migrate(async (_tx, ddl) => {
    for (const text of TRIGGERS[app.db.name]) await ddl(text)
  })
  await get('/readyz')
  const created = await post('/api/v2/users', { name: 'Bo', email: 'bo@example.com' })
  assert.deepEqual([created.status, created.body.name], [201, 'BO'])
  const path = `/api/v2/users/${created.body.id}`
  assert.deepEqual((await get(path)).body, created.body)
  const changed = await patch(path, { name: 'Cy' })
  assert.deepEqual([changed.status, changed.body.name], [200, 'CY'])
  assert.deepEqual((await get(path)).body, changed.body)
  const older = await patch(path.replace('v2', 'v1'), { name: 'Di' })
  assert.deepEqual([older.status, older.body.name], [200, 'DI'])
  const events = (await get('/events?limit=20')).body.data as { data: { object: object } }[]
  const names = events.map(({ data }) => (data.object as { name: string }).name).sort()
  assert.deepEqual(names, ['Ann', 'BO', 'CY', 'DI'])
})
