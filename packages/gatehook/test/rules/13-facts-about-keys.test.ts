/**
 * §13: the list of keys has overlaps and rejections; a key is renamed and pinned in place; its
 * usage names routes, scopes, addresses and rejections; scopes are described in words.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import {
  type Caller,
  eachService,
  openService,
  type TestApp,
} from '../../../../test/rig/service.ts'
import { f, resource, service } from '../../src/gatehook.ts'

async function openKeys({ as, key }: TestApp) {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const create = async (members: Record<string, unknown>) => {
    const reply = await admin.post('/admin/keys', { name: 'k', ...members })
    assert.equal(reply.status, 201, reply.text)
    return { id: reply.body.id as string, own: as(reply.body.key), body: reply.body }
  }
  return { admin, create }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read any member of a response
const listedKey = async (admin: Caller, id: string): Promise<any> =>
  (await admin.get(`/admin/keys?id=${id}`)).body.data[0]

eachService('a key is renamed and pinned to a version in place', async (service) => {
  const { admin, create } = await openKeys(service)
  const { id, own, body } = await create({ scopes: ['orders:read'] })
  const path = `/admin/keys/${id}`
  const reply = await admin.patch(path, { name: 'Till', api_version: 'v2' })
  assert.deepEqual([reply.status, reply.body.name, reply.body.api_version], [200, 'Till', 'v2'])
  assert.deepEqual(reply.body.scopes, body.scopes)
  assert.equal((await own.get('/api/orders')).headers['x-api-version'], 'v2')
  assert.equal((await admin.patch(path, { api_version: null })).body.api_version, null)
  assert.equal((await admin.get(path)).body.name, 'Till')
  for (const patch of [{ name: '' }, { api_version: 'v9' }, { name: 7 }, { hint: 'x' }]) {
    assert.equal((await admin.patch(path, patch)).status, 422, JSON.stringify(patch))
  }
  const { body: audit } = await admin.get(`/admin/audit?action=key.update&target=${id}&sort=id`)
  assert.deepEqual(audit.data[0].detail, { name: 'Till', api_version: 'v2', widened: false })
})

eachService('a key has the end of an overlap and the rejections of a day', async (service) => {
  const { admin, create } = await openKeys(service)
  const { id, own } = await create({ scopes: ['orders:read'] })
  const single = () => admin.get(`/admin/keys/${id}`)
  assert.deepEqual((await listedKey(admin, id)).overlap_ends_at, null)
  await admin.post(`/admin/keys/${id}/roll`, { overlap_seconds: 3600 })
  const overlap = Date.parse((await listedKey(admin, id)).overlap_ends_at) - Date.now()
  assert.ok(overlap > 3_500_000 && overlap <= 3_600_000, String(overlap))
  for (let n = 0; n < 3; n++) assert.equal((await own.get('/webhooks')).status, 403)
  await admin.get('/admin/series') // it stores the counts of this node
  assert.equal((await listedKey(admin, id)).refused_24h, 3)
  // The node stores the last use, which is part of the key, after the response.
  const reply = await eventually(single, ({ body }) => body.last_used_at !== null)
  assert.deepEqual(reply.body, await listedKey(admin, id))
  const ifMatch = { 'if-match': String(reply.headers.etag) }
  const patched = await admin.patch(`/admin/keys/${id}`, { name: 'k' }, ifMatch)
  assert.equal(patched.status, 200, 'the entity tag does not depend on overlap and rejections')
  const fields = await admin.get(`/admin/keys?id=${id}&fields=refused_24h`)
  assert.deepEqual(fields.body.data, [{ refused_24h: 3 }])
  const plain = await admin.get(`/admin/keys?id=${id}&fields=name`)
  assert.deepEqual(plain.body.data, [{ name: 'k' }])
})

eachService('keys are filtered by a scope that they hold', async (service) => {
  const { admin, create } = await openKeys(service)
  const reader = await create({ scopes: ['orders:read'] })
  await create({ scopes: ['orders:write', 'events:read'] })
  const ids = async (scope: string) =>
    (await admin.get(`/admin/keys?scope=${scope}&mode=live&name=k`)).body.data.map(
      (key: { id: string }) => key.id,
    )
  assert.deepEqual(await ids('orders:read'), [reader.id])
  assert.deepEqual(await ids('webhooks:read'), [])
  assert.equal((await admin.get('/admin/keys?scope=none')).status, 400)
})

eachService(
  'the usage of a key has its routes, scopes, addresses and rejections',
  async (service) => {
    const { admin, create } = await openKeys(service)
    const scopes = ['orders:read', 'users:read', 'events:read']
    const { id, own } = await create({ scopes })
    for (let n = 0; n < 2; n++) assert.equal((await own.get('/api/v2/orders')).status, 200)
    assert.equal((await own.get('/api/v2/orders/7')).status, 404)
    const rejected = await own.post('/api/v2/orders', {}, { 'x-request-id': 'call-7' })
    assert.equal(rejected.status, 403)
    await service.app.versioning.flush()
    const { body } = await admin.get(`/admin/keys/${id}/usage`)
    const routes = body.routes.map(({ last_at: _, ...route }: Record<string, unknown>) => route)
    assert.deepEqual(routes.slice(0, 1), [
      { method: 'GET', route: '/orders', version: 'v2', scope: 'orders:read', count: 2 },
    ])
    assert.deepEqual(routes.length, 3)
    assert.deepEqual(
      body.scopes.map(({ last_at: _, ...scope }: Record<string, unknown>) => scope),
      [
        { scope: 'orders:read', held: true, count: 3 },
        { scope: 'orders:write', held: false, count: 1 },
      ],
    )
    assert.deepEqual(body.unused_scopes, ['users:read', 'events:read'])
    assert.deepEqual([body.logged, body.addresses[0].address], [4, '127.0.0.1'])
    const [refusal] = body.refusals
    assert.deepEqual(
      [refusal.error, refusal.status, refusal.sample_request_id, refusal.count],
      ['insufficient_scope', 403, 'call-7', 1],
    )
    assert.equal((await admin.get(`/admin/keys/${id}/usage?days=400`)).status, 200)
    for (const days of ['0', '401', 'x']) {
      assert.equal((await admin.get(`/admin/keys/${id}/usage?days=${days}`)).status, 400, days)
    }
    assert.equal((await admin.get('/admin/keys/key_none/usage')).status, 404)
  },
)

eachService('every scope that a key can hold has words', async (service) => {
  const { admin } = await openKeys(service)
  const { data } = (await admin.get('/admin/scopes')).body
  const names = data.map((scope: { name: string }) => scope.name)
  assert.deepEqual(names, [...service.app.administration.scopes].sort())
  const byName = new Map(data.map((scope: { name: string }) => [scope.name, scope]))
  assert.deepEqual(byName.get('orders:write'), {
    name: 'orders:write',
    words: 'Create and change orders',
    kind: 'write',
    collection: 'orders',
  })
  for (const { words } of data) assert.match(words, /^[A-Z][^.]+$/)
})

test('words of a scope name the changes that its resource permits', async (t) => {
  const entries = resource('entries', {
    fields: { id: f.id(), text: f.string() },
    list: { filter: [], sort: ['id'] },
    access: { read: 'entries:read', create: 'entries:write', update: false, delete: false },
    events: [],
  })
  const versions = { v1: { released: '2026-06-01' } }
  const declared = service({ name: 'Entries', versions, resources: [entries] })
  const { as, key } = await openService(t, 'sqlite', { service: declared })
  const { data } = (await as(await key({ scopes: ['admin'], mode: 'live' })).get('/admin/scopes'))
    .body
  const { words } = data.find(({ name }: { name: string }) => name === 'entries:write')
  assert.equal(words, 'Create entries')
})
