/** §13: an audit row names the principal, the address and the request. */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('an audit row has the principal, the address and the request id', async (service) => {
  const { as, key } = service
  const admin = as(await key({ name: 'auditor', mode: 'live', scopes: ['admin'] }))
  const headers = { 'x-request-id': 'request-1' }
  const created = await admin.post('/admin/customers', { name: 'Acme' }, headers)
  assert.equal(created.status, 201)
  const { body } = await admin.get(`/admin/audit?target=${created.body.id}`)
  const [row, ...more] = body.data
  assert.deepEqual(more, [])
  const [own] = (await admin.get('/admin/keys?name=auditor')).body.data
  assert.deepEqual(row.principal, { kind: 'key', id: own.id, name: 'auditor' })
  assert.equal(row.address, '127.0.0.1')
  assert.equal(row.request_id, 'request-1')
  assert.equal(row.actor_kind, 'key')
  assert.equal(row.actor_id, own.id)
})

eachService('`fields=` selects the principal only', async ({ as, key }) => {
  const admin = as(await key({ mode: 'live', scopes: ['admin'] }))
  const { body } = await admin.get('/admin/audit?fields=principal&limit=1')
  assert.deepEqual(Object.keys(body.data[0]), ['principal'])
})

eachService(
  'a row recorded outside of a request has a null address and request id',
  async ({ as, key }) => {
    const admin = as(await key({ mode: 'live', scopes: ['admin'] }))
    const { body } = await admin.get('/admin/audit?action=customer.create')
    assert.deepEqual(body.data[0].principal, { kind: 'system', id: 'first-run', name: null })
    assert.equal(body.data[0].address, null)
    assert.equal(body.data[0].request_id, null)
  },
)
