/**
 * §18.9, §17.3: `metrics:read`, `audit:read` and `keys:verify_all` are parts of `admin` for
 * machines. As `admin`, only live credentials of the default customer carry them, and only
 * administrators grant them.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'
import { INSTALLATION_SCOPES } from '../../src/identity/access/administration.ts'
import { adminOf } from '../monitoring/admin.ts'
import { openPortal } from '../portal/rig.ts'

const elsewhere = { 'x-forwarded-for': '203.0.113.9' }
const PARTS = INSTALLATION_SCOPES.filter((scope) => scope !== 'admin')

eachService('each scope opens its path, and nothing else of the installation', async (service) => {
  const { as, key } = service
  const paths = {
    'metrics:read': '/metrics',
    'audit:read': '/admin/audit',
    'keys:verify_all': '/keys/verify',
  }
  assert.deepEqual(Object.keys(paths), PARTS)
  for (const [scope, own] of Object.entries(paths)) {
    const machine = as(await key({ mode: 'live', scopes: [scope] }))
    for (const path of [...Object.values(paths), '/admin/keys', '/admin/system', '/api/v2/users']) {
      const question = { credential: 'x' }
      const { status, body } = await (path === '/keys/verify'
        ? machine.post(path, question, elsewhere)
        : machine.get(path, elsewhere))
      assert.equal(status, path === own ? 200 : 403, `${scope} ${path}`)
      if (status === 403) assert.equal(body.error, 'insufficient_scope')
    }
  }
})

eachService('a credential outside of the default customer or live mode is 422', async (service) => {
  const admin = await adminOf(service)
  const { body: customer } = await admin.post('/admin/customers', { name: 'Acme' })
  const ada = { name: 'Ada', email: 'ada@example.com', password: 'correct horse battery' }
  for (const scope of INSTALLATION_SCOPES) {
    const scopes = [scope]
    for (const place of [{ mode: 'test' }, { customer: customer.id }]) {
      const requests = [
        await admin.post('/admin/keys', { name: 'k', scopes, ...place }),
        await admin.post('/admin/clients', { name: 'c', scopes, ...place }),
        await admin.post('/admin/users', { ...ada, scopes, ...place }),
      ]
      for (const { status, body } of requests) {
        assert.deepEqual([status, body.errors[0].pointer], [422, '/scopes/0'], scope)
      }
    }
    const created = await admin.post('/admin/keys', { name: 'k', scopes })
    assert.equal(created.status, 201, scope)
    const client = await admin.post('/admin/clients', { name: 'c', scopes })
    assert.equal(client.status, 201, scope)
  }
})

eachService('only administrators grant, change and see such keys', async (service) => {
  const { key, as } = service
  const admin = await adminOf(service)
  const { session } = await openPortal(service)
  const can = ['keys:read', 'keys:write']
  const portal = await session('default', { can })
  for (const scope of INSTALLATION_SCOPES) {
    const { body: row } = await admin.post('/admin/keys', { name: 'k', scopes: [scope] })
    const narrower = as(await key({ mode: 'live', scopes: can }))
    const patch = await narrower.patch(`/admin/keys/${row.id}`, { expires_at: '2099-01-01' })
    assert.deepEqual([patch.status, patch.body.error], [403, 'insufficient_scope'], scope)
    assert.equal((await portal.send('GET', `/portal/api/keys?id=${row.id}`)).body.data.length, 0)
    const widened = await portal.send('POST', '/portal/api/keys', { name: 'k', scopes: [scope] })
    assert.equal(widened.status, 403, scope)
    const link = await admin.post('/admin/portal-links', { customer: 'default', can: [scope] })
    assert.equal(link.status, 422, scope)
  }
})
