/**
 * §18.11: an erasure finds the events of deleted rows that a withdrawn version recorded, in which
 * the owner had another name.
 */
import assert from 'node:assert/strict'
import { eachService, openService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const access = { read: 'r', create: 'w', update: 'w', delete: 'w' } as const
const list = { filter: [], sort: [] } as const
const people = resource('people', {
  fields: { id: f.id(), email: f.email().unique().personal() },
  ...{ list, access, events: [] },
}).signsIn({ username: 'email', scopes: ['r'] })
const text = f.string().personal()
const owner = f.ref('people').owner()
const more = { list, access, events: ['letter.created', 'letter.deleted'] } as const
const earlier = service({
  ...{ name: 'Letters', versions: { v1: { released: '2026-06-01' } } },
  resources: [
    people,
    resource('letters', { fields: { id: f.id(), user_id: owner, text }, ...more }),
  ],
})
const later = service({
  ...{ name: 'Letters', versions: { v2: { released: '2026-09-01' } } },
  resources: [
    people,
    resource('letters', { fields: { id: f.id(), person_id: owner, text }, ...more }),
  ],
  migrations: [
    {
      ...{ number: 1, name: 'owner', table: 'letters' },
      sql: 'ALTER TABLE letters RENAME COLUMN user_id TO person_id',
    },
  ],
})

eachService(
  'events of deleted rows are erased if a withdrawn version named their owner',
  async (before, t) => {
    const { post, send } = before
    const [gone, other] = [
      (await post('/api/v1/people', { email: 'gone@example.com' })).body.id,
      (await post('/api/v1/people', { email: 'other@example.com' })).body.id,
    ]
    for (const user_id of [gone, other]) {
      const row = await post('/api/v1/letters', { user_id, text: `of person ${user_id}` })
      assert.equal(row.status, 201, row.text)
      assert.equal((await send('DELETE', `/api/v1/letters/${row.body.id}`)).status, 204)
    }
    await before.app.close()
    const after = await openService(t, before.app.db.name, { service: later, url: before.url })
    const admin = after.as(await after.key({ scopes: ['admin'], mode: 'live' }))
    assert.equal((await admin.delete(`/admin/users/${gone}`)).status, 202)
    await after.app.erasure.runDue()
    const rows = await after.app.db.all<{ object: string }>(
      sql`SELECT object FROM gh_events WHERE type LIKE 'letter.%'`,
    )
    const texts = rows.map(({ object }) => JSON.parse(object).text)
    assert.equal(texts.length, 4)
    assert.equal(texts.filter((value) => value === `of person ${other}`).length, 2)
    assert.ok(!texts.includes(`of person ${gone}`), JSON.stringify(texts))
  },
  { service: earlier },
)
