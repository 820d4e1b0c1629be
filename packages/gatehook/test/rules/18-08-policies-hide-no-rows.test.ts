/** §18.8: a change of a table by an administrator fails statements, and hides no row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openService } from '../../../../test/rig/service.ts'
import { inSchema, OWN, openTeamDatabase } from '../storage/team-database.ts'

test('a policy of row level security fails statements, and hides no rows [postgres]', async (t) => {
  const { url, query } = await openTeamDatabase(t)
  const app = await openService(t, 'postgres', { service: OWN, url, env: inSchema('one') })
  const { id } = (await app.post('/api/v1/notes', { text: 'tea' })).body
  const secure = (how: string) => query(`ALTER TABLE one.notes ${how} ROW LEVEL SECURITY`)
  await secure('ENABLE')
  assert.equal((await app.get(`/api/v1/notes/${id}`)).status, 200, 'the owner reads all rows')
  await secure('FORCE')
  const replies = [
    await app.get(`/api/v1/notes/${id}`),
    await app.get('/api/v1/notes'),
    await app.delete(`/api/v1/notes/${id}`),
    await app.post('/api/v1/notes', { text: 'milk' }),
  ]
  for (const { status } of replies) assert.ok(status >= 500, `${status}`)
  await secure('NO FORCE')
  assert.deepEqual((await app.get('/api/v1/notes')).body.data, [{ id, text: 'tea' }])
})
