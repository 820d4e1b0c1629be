/** §6.2: unknown members are 422 in every body, also of operations that declare no members. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

const doors = resource('doors', {
  fields: {
    id: f.id(),
    name: f.string().max(20),
    status: f.oneOf(['open', 'shut']).default('open').readonly(),
  },
  list: { filter: [], sort: [] },
  access: { read: 'doors:read', create: 'doors:write', update: false, delete: 'doors:write' },
  events: ['door.deleted', 'door.restored'],
  softDelete: { scope: 'doors:restore' },
}).action('shut', { scope: 'doors:write', from: ['open'], to: 'shut', emits: 'door.shut' })
const house = {
  service: service({
    name: 'house',
    versions: { v1: { released: '2026-01-01' } },
    resources: [doors],
  }),
}

eachService(
  'a POST without declared members rejects each member, in every document',
  async (app) => {
    const admin = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
    const sent: string[] = []
    for (const name of ['v1', 'platform', 'admin']) {
      const { paths } = app.app.openapi(name) as { paths: Record<string, { post?: object }> }
      for (const [path, { post }] of Object.entries(paths)) {
        if (!post || 'requestBody' in post || path.startsWith('/console/')) continue
        const caller = name === 'admin' ? admin : app
        const reply = await caller.post(path.replace(/\{\w+\}/g, '1'), { no_such_member: 1 })
        assert.equal(reply.status, 422, `${path} ${reply.text}`)
        const [mistake] = reply.body.errors
        assert.deepEqual([mistake.pointer, mistake.code], ['/no_such_member', 'unknown_field'])
        sent.push(path)
      }
    }
    for (const path of ['/api/v1/doors/{id}/restore', '/api/v1/doors/{id}/shut']) {
      assert.ok(sent.includes(path), path)
    }
    assert.ok(sent.includes('/admin/jobs/{id}/cancel'))
  },
  house,
)

eachService(
  'a restore with a member restores nothing; an empty object is no mistake',
  async (app) => {
    const { body: row } = await app.post('/api/v1/doors', { name: 'a' })
    const path = `/api/v1/doors/${row.id}`
    await app.delete(path)
    assert.equal((await app.post(`${path}/restore`, { name: 'b' })).status, 422)
    assert.equal((await app.post(`${path}/restore`, [])).status, 422)
    assert.equal((await app.get(path)).status, 404)
    const events = await app.get('/events')
    const types = events.body.data.map(({ type }: { type: string }) => type)
    assert.deepEqual(types, ['door.deleted'])
    assert.equal((await app.post(`${path}/restore`, {})).status, 200)
  },
  house,
)
