/**
 * §17.2: a customer has a unique `external_id`, the id in the team's own system, and a request
 * names the customer by it wherever it names one by its id.
 */
import assert from 'node:assert/strict'
import { eachService } from '../../../../test/rig/service.ts'

eachService('every request that names a customer accepts its external id', async (service) => {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const created = await operator.post('/admin/customers', { name: 'Org 42', external_id: 'org_42' })
  assert.equal(created.status, 201, created.text)
  const { id, external_id } = created.body
  assert.equal(external_id, 'org_42')
  const customer = 'org_42'
  const named: readonly [method: string, path: string, body?: unknown][] = [
    ['GET', '/admin/customers/org_42'],
    ['PATCH', '/admin/customers/org_42', { name: 'Org 42 Ltd' }],
    ['POST', '/admin/keys', { name: 'k', scopes: ['users:read'], customer }],
    ['GET', '/admin/keys?customer=org_42'],
    ['GET', '/admin/keys?customer[in]=default,org_42'],
    ['POST', '/admin/clients', { name: 'c', scopes: ['users:read'], customer }],
    ['GET', '/admin/clients?customer=org_42'],
    [
      'POST',
      '/admin/users',
      { name: 'Ada', email: 'a@org.example', password: 'correct horse 7', customer },
    ],
    ['GET', '/admin/users?customer=org_42'],
    ['POST', '/admin/portal-links', { customer, mode: 'live', can: ['webhooks:read'] }],
    ['GET', '/admin/events?customer=org_42'],
    ['GET', '/admin/deliveries?customer=org_42'],
    ['GET', '/admin/webhooks?customer=org_42'],
    ['GET', '/admin/versions/v1/callers?customer=org_42'],
    ['GET', '/admin/as/org_42/live/webhooks'],
    ['GET', '/admin/customers/org_42/export'],
  ]
  for (const [method, path, body] of named) {
    const reply = await operator.send(method, path, body)
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.status} ${reply.text}`)
    if (method === 'POST' && path !== '/admin/portal-links') {
      assert.equal(reply.body.customer, id, path)
    }
    const [row] = reply.body?.data ?? []
    if (path.startsWith('/admin/keys?')) assert.ok(row, path)
  }
  assert.equal((await operator.delete('/admin/customers/org_42')).status, 202)
})

eachService('an external id is unique, and never looks like an id', async (service) => {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  const create = (external_id: unknown) =>
    operator.post('/admin/customers', { name: 'A', external_id })
  assert.equal((await create('a')).status, 201)
  const other = await create(null)
  assert.equal(other.status, 201)
  const taken = await create('a')
  assert.deepEqual([taken.status, taken.body.error], [409, 'conflict'])
  assert.equal(taken.body.errors[0].pointer, '/external_id')
  const path = `/admin/customers/${other.body.id}`
  assert.equal((await operator.patch(path, { external_id: 'a' })).status, 409)
  assert.equal((await operator.patch(path, { external_id: 'b' })).body.external_id, 'b')
  assert.equal((await operator.patch(path, { external_id: null })).body.external_id, null)
  for (const wrong of ['cus_1', 'default', 'a,b', 'a b', '', 'é', 'x'.repeat(201), 7]) {
    assert.equal((await create(wrong)).status, 422, JSON.stringify(wrong))
  }
  const missing = await operator.post('/admin/keys', {
    name: 'k',
    scopes: ['users:read'],
    customer: 'b',
  })
  assert.equal(missing.status, 422)
})
