/**
 * §12.2: the portal creates, rolls and revokes keys of its customer and mode, with scopes that the
 * link grants. Keys of operators, of other customers and of the other mode do not exist there.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { service } from '../../src/gatehook.ts'
import { openPortal } from '../portal/rig.ts'

eachService('a key carries only scopes that the link grants', async (service) => {
  const { customer, session } = await openPortal(service)
  const shop = await customer('Shop')
  const portal = await session(shop, { can: ['keys:read', 'keys:write', 'orders:read'] })
  const reply = await portal.post('/portal/api/keys', { name: 'Reports', scopes: ['orders:read'] })
  assert.equal(reply.status, 201, reply.text)
  const { id, key, scopes, customer: owner, mode } = reply.body
  assert.deepEqual([scopes, owner, mode], [['orders:read'], shop, 'live'])
  assert.equal(reply.headers.location, `/portal/api/keys/${id}`)
  assert.equal(reply.headers['cache-control'], 'no-store')
  assert.equal((await service.as(key).get('/api/v2/orders')).status, 200)
  const listed = await portal.get('/portal/api/keys')
  assert.deepEqual(
    listed.body.data.map(({ name }: { name: string }) => name),
    ['Reports'],
  )
  assert.ok(!listed.text.includes(key))

  for (const scope of ['orders:write', 'admin', 'webhooks:read']) {
    const { status, body } = await portal.post('/portal/api/keys', { name: 'x', scopes: [scope] })
    assert.deepEqual([status, body.error], [403, 'insufficient_scope'], scope)
    assert.ok(body.message.includes(scope))
  }
  const invalid: readonly (readonly [string, unknown])[] = [
    ['/customer', { name: 'x', scopes: [], customer: 'default' }],
    ['/mode', { name: 'x', scopes: [], mode: 'test' }],
    ['/name', { scopes: [] }],
    ['/scopes', { name: 'x', scopes: 'orders:read' }],
    ['', []],
  ]
  for (const [pointer, body] of invalid) {
    const answer = await portal.post('/portal/api/keys', body)
    assert.deepEqual([answer.status, answer.body.errors?.[0].pointer], [422, pointer], answer.text)
  }
  assert.equal((await portal.get('/portal/api/keys')).body.data.length, 1)
})

eachService('a key is rolled only if the link grants all its scopes', async (service) => {
  const { operator, customer, session } = await openPortal(service)
  const shop = await customer('Shop')
  const create = async (scopes: readonly string[]) => {
    const body = { name: scopes.join(' '), scopes, customer: shop, mode: 'live' }
    return (await operator.post('/admin/keys', body)).body
  }
  const narrow = await create(['orders:read'])
  const wide = await create(['orders:read', 'orders:write'])
  const portal = await session(shop, { can: ['keys:read', 'keys:write', 'orders:read'] })
  const rolled = await portal.post(`/portal/api/keys/${narrow.id}/roll`, { overlap_seconds: 0 })
  assert.equal(rolled.status, 200, rolled.text)
  assert.equal((await service.as(rolled.body.key).get('/api/v2/orders')).status, 200)
  assert.equal((await service.as(narrow.key).get('/api/v2/orders')).status, 403)
  const refused = await portal.post(`/portal/api/keys/${wide.id}/roll`)
  assert.deepEqual([refused.status, refused.body.error], [403, 'insufficient_scope'])
  assert.equal((await service.as(wide.key).get('/api/v2/orders')).status, 200)
  assert.equal((await portal.delete(`/portal/api/keys/${wide.id}`)).status, 204)
  assert.equal((await service.as(wide.key).get('/api/v2/orders')).status, 403)
  const audit = await operator.get(`/admin/audit?target=${wide.id}&action=key.revoke`)
  assert.deepEqual(audit.body.data[0].principal.kind, 'portal')
})

eachService(
  'after a roll the list has the end of the overlap, and null once it has ended',
  async (service) => {
    const { operator, customer, session } = await openPortal(service)
    const can = ['keys:read', 'keys:write', 'orders:read']
    const portal = await session(await customer('Shop'), { can })
    const input = { name: 'Reports', scopes: ['orders:read'] }
    const { id } = (await portal.post('/portal/api/keys', input)).body
    const readEnd = async () => {
      const { data } = (await portal.get('/portal/api/keys')).body
      return data[0].overlap_ends_at as string | null
    }
    assert.equal(await readEnd(), null)
    const rolled = await portal.post(`/portal/api/keys/${id}/roll`, { overlap_seconds: 3600 })
    assert.equal(rolled.status, 200, rolled.text)
    const minutes = (Date.parse((await readEnd())!) - Date.now()) / 60_000
    assert.ok(minutes > 55 && minutes <= 60, String(minutes))
    const named = await portal.get('/portal/api/keys?fields=id,overlap_ends_at')
    assert.deepEqual(Object.keys(named.body.data[0]), ['id', 'overlap_ends_at'])
    assert.equal((await operator.post('/admin/clock', { advance_s: 3600 })).status, 200)
    assert.equal(await readEnd(), null)
  },
  { env: { GATEHOOK_TEST_CLOCK: '1' } },
)

eachService('keys of others and of operators do not exist in the portal', async (service) => {
  const { operator, customer, session } = await openPortal(service)
  const shop = await customer('Shop')
  const create = async (members: Record<string, unknown>) => {
    const body = { name: 'foreign', scopes: ['orders:read'], ...members }
    const reply = await operator.post('/admin/keys', body)
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  const foreign = [
    await create({ customer: await customer('Other'), mode: 'live' }),
    await create({ customer: shop, mode: 'test' }),
  ]
  const portal = await session(shop)
  const home = await session('default')
  foreign.push(await create({ customer: 'default', mode: 'test' }))
  const operators = await create({ customer: 'default', mode: 'live', scopes: ['admin'] })
  const attempts = [
    ...foreign.map((key) => [portal, key] as const),
    ...foreign.map((key) => [home, key] as const),
    [home, operators] as const,
  ]
  for (const [caller, { id, key }] of attempts) {
    assert.equal((await caller.post(`/portal/api/keys/${id}/roll`)).status, 404)
    assert.equal((await caller.delete(`/portal/api/keys/${id}`)).status, 404)
    assert.equal((await service.as(key).get('/api/v2/orders')).status, 200)
  }
  for (const caller of [portal, home]) {
    const list = await caller.get('/portal/api/keys?limit=100')
    assert.deepEqual([list.status, list.body.data], [200, []], list.text)
    assert.equal((await caller.get('/portal/api/keys?customer=cus_default')).status, 400)
  }
})

const lists = service({
  name: 'Lists',
  versions: { v1: { released: '2026-01-01' } },
  resources: [],
  scopes: ['keys:verify-all'],
})

eachService(
  'a key with a scope of the service that resembles one of operators is listed',
  async (app) => {
    const { operator, session } = await openPortal(app)
    const portal = await session('default', { can: ['keys:read'] })
    for (const scope of ['keys:verify-all', 'keys:verify_all']) {
      const body = { name: scope, scopes: [scope], customer: 'default', mode: 'live' }
      assert.equal((await operator.post('/admin/keys', body)).status, 201)
    }
    const { data } = (await portal.get('/portal/api/keys')).body
    assert.deepEqual(
      data.map(({ name }: { name: string }) => name),
      ['keys:verify-all'],
    )
  },
  { service: lists },
)

eachService('keys:read lists keys and changes none', async (service) => {
  const { customer, session } = await openPortal(service)
  const shop = await customer('Shop')
  const reader = await session(shop, { can: ['keys:read', 'orders:read'] })
  assert.equal((await reader.get('/portal/api/keys')).status, 200)
  const { key_scopes, sections } = (await reader.get('/portal/session')).body
  assert.deepEqual(key_scopes, [])
  assert.deepEqual(sections, { keys: 'read', webhooks: 'hidden', events: 'hidden' })
  const create = await reader.post('/portal/api/keys', { name: 'x', scopes: [] })
  assert.deepEqual([create.status, create.body.error], [403, 'insufficient_scope'])
  const nothing = await session(shop, { can: ['orders:read'] })
  for (const path of ['keys', 'webhooks', 'events']) {
    const { status, body } = await nothing.get(`/portal/api/${path}`)
    assert.deepEqual([status, body.error], [403, 'insufficient_scope'], path)
  }
})
