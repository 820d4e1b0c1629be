/** §6.1: a declaration yields table, validation, lists, events, links, actions and OpenAPI. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'
import { sql } from '../../src/platform/storage/sql.ts'

const folders = resource('folders', {
  fields: {
    id: f.id(),
    parent_id: f.ref('folders').nullable().default(null),
    title: f.string().min(1).unique(),
    weight: f.number().default(0.5),
    open: f.bool().default(false),
    seen_at: f.time().nullable().readonly(),
  },
  list: { filter: ['open', 'weight', 'seen_at', 'parent_id'], sort: ['title', 'weight', 'open'] },
  access: { read: 'f:read', create: 'f:write', update: false, delete: 'f:write' },
  events: ['folder.created', 'folder.deleted'],
})
  .links((row) => ({ self: `/folders/${row.id}`, inside: `/folders?parent_id=${row.id}` }))
  .action('look', { scope: 'f:read', emits: 'folder.looked' })
  .action('toggle', {
    scope: 'f:write',
    run: ({ row }) => ({ open: !row.open, seen_at: 1_700_000_000_123 }),
  })

const cabinet = service({
  name: 'cabinet',
  versions: { v1: { released: '2026-01-01' } },
  resources: [folders],
})

eachService(
  'every kind of field is accepted, stored and returned',
  async ({ app, post, get, send }) => {
    const createReply = await post('/api/v1/folders', { title: 'A', weight: 1.25, open: true })
    const folder = { id: 1, parent_id: null, title: 'A', weight: 1.25, open: true, seen_at: null }
    assert.deepEqual(createReply.body, folder)
    const inner = await post('/api/v1/folders', { title: 'B', parent_id: 1 })
    assert.deepEqual([inner.body.parent_id, inner.body.open, inner.body.weight], [1, false, 0.5])
    const stored = await app.db.get(sql`SELECT open, weight FROM folders WHERE id = 1`)
    assert.deepEqual({ ...stored }, { open: 1, weight: 1.25 })
    const toggled = await post('/api/v1/folders/1/toggle')
    assert.deepEqual([toggled.body.open, toggled.body.seen_at], [false, '2023-11-14T22:13:20.123Z'])
    const ids = async (query: string) =>
      (await get(`/api/v1/folders?${query}`)).body.data.map((row: { id: number }) => row.id)
    assert.deepEqual(await ids('open=false&sort=-title'), [2, 1])
    assert.deepEqual(await ids('weight[gt]=1'), [1])
    assert.deepEqual(await ids('seen_at[gte]=2023-11-14'), [1])
    assert.deepEqual(await ids('parent_id=1'), [2])
    const [linked] = (await get('/api/v1/folders?pagination=hypermedia')).body.data
    assert.deepEqual(linked._links, {
      self: '/api/v1/folders/1',
      inside: '/api/v1/folders?parent_id=1',
    })
    assert.equal((await send('PATCH', '/api/v1/folders/1', { title: 'C' })).status, 405)
    assert.equal((await send('DELETE', '/api/v1/folders/1')).status, 409, 'B refers to it')
    assert.equal((await send('DELETE', '/api/v1/folders/2')).status, 204)
    assert.equal((await send('DELETE', '/api/v1/folders/1')).status, 204)
  },
  { service: cabinet },
)

eachService(
  'an action that changes no field still records its event',
  async ({ post, get }) => {
    const createReply = await post('/api/v1/folders', { title: 'A' })
    const looked = await post('/api/v1/folders/1/look')
    assert.deepEqual([looked.status, looked.body], [200, createReply.body])
    const events = (await get('/events')).body.data
    assert.deepEqual(
      events.map((event: { type: string }) => event.type),
      ['folder.created', 'folder.looked'],
    )
    assert.deepEqual(events[1].data.object, createReply.body)
  },
  { service: cabinet },
)

eachService(
  'operations require the declared scopes',
  async ({ post, as, key }) => {
    await post('/api/v1/folders', { title: 'A' })
    const reader = as(await key({ scopes: ['f:read'] }))
    assert.equal((await reader.get('/api/v1/folders/1')).status, 200)
    assert.equal((await reader.post('/api/v1/folders/1/look')).status, 200)
    for (const [method, path] of [
      ['POST', ''],
      ['DELETE', '/1'],
      ['POST', '/1/toggle'],
    ] as const) {
      const refused = await reader.send(
        method,
        `/api/v1/folders${path}`,
        method === 'POST' ? {} : undefined,
      )
      assert.deepEqual(
        [refused.status, refused.body.error],
        [403, 'insufficient_scope'],
        method + path,
      )
      assert.match(refused.body.message, /f:write/)
    }
  },
  { service: cabinet },
)
