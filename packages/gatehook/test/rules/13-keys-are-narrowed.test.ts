/** §13: `keys:write` narrows keys of its own customer and mode; widening requires `admin`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases, freshUrl } from '../../../../test/rig/databases.ts'
import { eventually } from '../../../../test/rig/eventually.ts'
import {
  type Caller,
  eachService,
  openService,
  type TestApp,
} from '../../../../test/rig/service.ts'
import { gatehook, installed, jsonOf } from '../cli/command.ts'

const DAY_MS = 86_400_000
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()

interface KeyCallers {
  readonly admin: Caller
  /** A key that holds `keys:write` only. */
  readonly narrower: Caller
  createKey(options?: Record<string, unknown>): Promise<{ id: string; key: string }>
}

async function openCallers({ as, key }: TestApp): Promise<KeyCallers> {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const narrower = as(await key({ scopes: ['keys:write'], mode: 'live' }))
  const createKey: KeyCallers['createKey'] = async (options = {}) => {
    const name = 'target'
    const reply = await admin.post('/admin/keys', { name, scopes: ['orders:read'], ...options })
    assert.equal(reply.status, 201, reply.text)
    return reply.body
  }
  return { admin, narrower, createKey }
}

const limits = {
  scopes: ['orders:read', 'orders:write'],
  cidrs: ['10.0.0.0/8', '2001:db8::/32'],
  expires_at: inDays(10),
}

eachService('keys:write narrows scopes, addresses and expiry', async (service) => {
  const { admin, narrower, createKey } = await openCallers(service)
  const { id } = await createKey(limits)
  const change = {
    scopes: ['orders:read'],
    cidrs: ['10.1.0.0/16', '10.2.3.4', '2001:db8:1::/48'],
    expires_at: inDays(5),
  }
  const reply = await narrower.patch(`/admin/keys/${id}`, change)
  assert.equal(reply.status, 200, reply.text)
  const { scopes, cidrs, expires_at } = reply.body
  assert.deepEqual({ scopes, cidrs, expires_at }, change)
  const detail = (await admin.get(`/admin/keys/${id}`)).body
  const { overlap_ends_at, refused_24h, revoked_at, ...stored } = detail
  assert.deepEqual(stored, reply.body)
  assert.deepEqual([overlap_ends_at, refused_24h, revoked_at], [null, 0, null])
  assert.equal('key' in reply.body, false)
  const { data } = (await admin.get(`/admin/audit?action=key.update&target=${id}`)).body
  assert.deepEqual(data[0].detail, { ...change, widened: false })
  const unrestricted = await createKey()
  const restrictions = { cidrs: ['10.0.0.0/8'], expires_at: inDays(1), scopes: [] }
  assert.equal((await narrower.patch(`/admin/keys/${unrestricted.id}`, restrictions)).status, 200)
})

const wider: readonly Record<string, unknown>[] = [
  { scopes: ['orders:read', 'users:read'] },
  { scopes: ['admin'] },
  { cidrs: [] },
  { cidrs: ['0.0.0.0/0'] },
  { cidrs: ['10.0.0.0/7'] },
  { cidrs: ['10.0.0.0/8', '11.0.0.1'] },
  { cidrs: ['2001:db8::/31'] },
  { cidrs: ['::ffff:11.0.0.0/104'] },
  { expires_at: null },
  { expires_at: inDays(11) },
  { scopes: ['orders:read'], expires_at: inDays(11) },
]

eachService('widening requires admin, and a rejected change has no effect', async (service) => {
  const { admin, narrower, createKey } = await openCallers(service)
  for (const change of wider) {
    const { id } = await createKey(limits)
    const path = `/admin/keys/${id}`
    const { body: before } = await admin.get(path)
    const rejected = await narrower.patch(path, change)
    const label = JSON.stringify(change)
    assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope'], label)
    assert.match(rejected.body.message, /admin/)
    assert.deepEqual((await admin.get(path)).body, before, label)
    const { data } = (await admin.get(`/admin/audit?action=key.update&target=${id}`)).body
    assert.deepEqual(data, [])
    const widened = await admin.patch(path, change)
    assert.equal(widened.status, 200, widened.text)
  }
})

eachService('a key of another customer or mode is 404, like an unknown one', async (service) => {
  const { admin, narrower, createKey } = await openCallers(service)
  const { body: other } = await admin.post('/admin/customers', { name: 'Other' })
  const keys = [await createKey({ customer: other.id }), await createKey({ mode: 'test' })]
  const change = { scopes: [] }
  for (const id of [...keys.map((key) => key.id), 'key_0', 'x']) {
    for (const headers of [{}, { 'if-match': '"odd"' }] as Record<string, string>[]) {
      assert.equal((await narrower.patch(`/admin/keys/${id}`, change, headers)).status, 404, id)
    }
  }
  for (const { id } of keys) {
    assert.deepEqual((await admin.get(`/admin/keys/${id}`)).body.scopes, ['orders:read'])
  }
  assert.equal((await admin.patch(`/admin/keys/${keys[0]!.id}`, change)).status, 200)
})

eachService('updating a key that holds admin requires admin', async (service) => {
  const { admin, narrower, createKey } = await openCallers(service)
  const { id } = await createKey({ scopes: ['admin'] })
  const rejected = await narrower.patch(`/admin/keys/${id}`, { scopes: [] })
  assert.deepEqual([rejected.status, rejected.body.error], [403, 'insufficient_scope'])
  assert.equal((await admin.patch(`/admin/keys/${id}`, { scopes: ['orders:read'] })).status, 200)
})

eachService(
  'keys:write permits updates only, and other scopes do not permit them',
  async (service) => {
    const { narrower, createKey } = await openCallers(service)
    const { id } = await createKey()
    for (const [method, path, body] of [
      ['GET', `/admin/keys/${id}`],
      ['DELETE', `/admin/keys/${id}`],
      ['POST', `/admin/keys/${id}/roll`],
      ['GET', '/admin/keys'],
      ['POST', '/admin/keys', { name: 'k', scopes: ['keys:write'] }],
    ] as const) {
      assert.equal((await narrower.send(method, path, body)).status, 403, `${method} ${path}`)
    }
    const reader = service.as(await service.key({ scopes: ['keys:read'], mode: 'live' }))
    const rejected = await reader.patch(`/admin/keys/${id}`, { scopes: [] })
    assert.match(rejected.body.message, /keys:write/)
  },
)

eachService('invalid values are 422', async (service) => {
  const { admin, createKey } = await openCallers(service)
  const { id } = await createKey()
  for (const change of [
    { hint: 'other' },
    { name: '' },
    { api_version: 'v0' },
    { scopes: ['nothing:read'] },
    { cidrs: ['10.0.0.0/33'] },
    { expires_at: inDays(-1) },
  ]) {
    assert.equal((await admin.patch(`/admin/keys/${id}`, change)).status, 422)
  }
  const test = await createKey({ mode: 'test' })
  assert.equal((await admin.patch(`/admin/keys/${test.id}`, { scopes: ['admin'] })).status, 422)
})

for (const { name } of databases) {
  test(`every node applies an update [${name}]`, async (t) => {
    const url = await freshUrl(t, name)
    const node = await openService(t, name, { url })
    const otherNode = await openService(t, name, { url })
    const { narrower, createKey } = await openCallers(node)
    const { id, key } = await createKey({ scopes: ['orders:read', 'users:read'] })
    const read = () => otherNode.as(key).get('/api/v2/orders')
    assert.equal((await read()).status, 200)
    const change = { scopes: ['users:read'] }
    assert.equal((await narrower.patch(`/admin/keys/${id}`, change)).status, 200)
    assert.equal((await node.as(key).get('/api/v2/orders')).status, 403, 'at once on its own node')
    await eventually(read, ({ status }) => status === 403)
  })
}

test('the command line updates a key', async (t) => {
  const place = await installed(t)
  const { id } = await jsonOf(place, 'keys', 'create', '--name', 'k', '--scopes', 'orders:read')
  const narrow = ['--scopes', 'orders:read', '--cidrs', '10.0.0.0/8', '--expires', '5d']
  const key = await jsonOf(place, 'keys', 'update', id, ...narrow)
  assert.deepEqual([key.scopes, key.cidrs], [['orders:read'], ['10.0.0.0/8']])
  const wide = await jsonOf(place, 'keys', 'update', id, '--cidrs', 'none', '--expires', 'never')
  assert.deepEqual([wide.cidrs, wide.expires_at], [[], null])
  assert.equal((await gatehook(place, 'keys', 'update', id)).exit, 2)
  assert.equal((await gatehook(place, 'keys', 'update', 'key_0', '--cidrs', 'none')).exit, 1)
})
