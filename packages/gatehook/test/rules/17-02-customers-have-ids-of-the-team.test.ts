/**
 * §17.2: a customer has a unique `external_id`, the id in the team's own system, and a request
 * names the customer by it wherever it names one by its id.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../../../test/rig/eventually.ts'
import { eachService } from '../../../../test/rig/service.ts'
import { openEmitter } from '../storage/emitter.ts'

/** Ids in the system of the team, of each form. */
const IDS = ['org_42', 'org:42', 'a@b', 'a/b', '50%', '?#&=+', 'x'.repeat(200)]

eachService('every request that names a customer accepts its external id', async (service) => {
  const operator = service.as(await service.key({ scopes: ['admin'], mode: 'live' }))
  for (const [at, customer] of IDS.entries()) {
    const organization = { name: `Org ${at}`, external_id: customer }
    const created = await operator.post('/admin/customers', organization)
    assert.equal(created.status, 201, created.text)
    const { id, external_id } = created.body
    assert.equal(external_id, customer)
    const name = encodeURIComponent(customer)
    const email = `a${at}@org.example`
    const named: readonly [method: string, path: string, body?: unknown][] = [
      ['GET', `/admin/customers/${name}`],
      ['PATCH', `/admin/customers/${name}`, { name: `Org ${at} Ltd` }],
      ['POST', '/admin/keys', { name: 'k', scopes: ['users:read'], customer }],
      ['GET', `/admin/keys?customer=${name}`],
      ['GET', `/admin/keys?customer[in]=default,${name}`],
      ['POST', '/admin/clients', { name: 'c', scopes: ['users:read'], customer }],
      ['GET', `/admin/clients?customer=${name}`],
      ['POST', '/admin/users', { name: 'Ada', email, password: 'correct horse 7', customer }],
      ['GET', `/admin/users?customer=${name}`],
      ['POST', '/admin/portal-links', { customer, mode: 'live', can: ['webhooks:read'] }],
      ['GET', `/admin/events?customer=${name}`],
      ['GET', `/admin/deliveries?customer=${name}`],
      ['GET', `/admin/webhooks?customer=${name}`],
      ['GET', `/admin/resources?customer=${name}`],
      ['GET', `/admin/versions/v1/callers?customer=${name}`],
      ['GET', `/admin/requests?customer=${name}`],
      ['GET', `/admin/errors?customer=${name}`],
      ['GET', `/admin/series?customer=${name}`],
      ['GET', `/admin/as/${name}/live/webhooks`],
      ['GET', `/admin/as/${name}/live/api/v2/users`],
      ['GET', `/admin/customers/${name}/export`],
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
    assert.equal((await operator.delete(`/admin/customers/${name}`)).status, 202)
  }
})

eachService('the monitoring selects the requests of a customer by its external id', async (app) => {
  const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const created = await operator.post('/admin/customers', { name: 'Org', external_id: 'org:42' })
  const { id } = created.body
  const members = { name: 'k', scopes: ['users:read'], customer: id }
  const { key } = (await operator.post('/admin/keys', members)).body
  for (const path of ['/api/v2/users', '/api/v2/orders']) await app.as(key).get(path)
  for (const customer of ['org:42', id, `default,${id}`]) {
    const query = `customer=${customer}&route=/api/users,/api/orders`
    const { data } = (await operator.get(`/admin/requests?${query}`)).body
    assert.equal(data.length, 2, customer)
  }
  for (const customer of ['org:42', id]) {
    const errors = (await operator.get(`/admin/errors?customer=${customer}`)).body.data
    assert.deepEqual(
      errors.map(({ error }: { error: string }) => error),
      ['insufficient_scope'],
    )
    const { totals } = (await operator.get(`/admin/series?metric=requests&customer=${customer}`))
      .body
    assert.equal(totals.requests.count, 2, customer)
  }
  assert.deepEqual((await operator.get('/admin/errors?customer=nobody')).body.data, [])
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

test('the audit trail names the role that created a customer by SQL', async (t) => {
  const { app, connect, role, query } = await openEmitter(t)
  const client = await connect()
  const create = (external: string) =>
    client.query('SELECT one.gatehook_customer($1, $2) AS id', [external, 'Org'])
  await client.query('BEGIN')
  await create('org_none')
  await client.query('ROLLBACK')
  const { rows } = await create('org_42')
  await create('org_42')
  await app.app.work()
  const operator = app.as(await app.key({ scopes: ['admin'], mode: 'live' }))
  const list = async () =>
    (await operator.get('/admin/audit?action=customer.create&actor_id=outbox')).body.data
  const [entry, ...more] = await eventually(list, ({ length }) => length > 0)
  assert.deepEqual(more, [])
  const { principal, target, detail } = entry
  assert.deepEqual([principal.kind, principal.id, target], ['system', 'outbox', rows[0].id])
  assert.deepEqual([detail.external_id, detail.name, detail.role], ['org_42', 'Org', role])
  await create('org_43')
  const both = await eventually(list, ({ length }) => length > 1)
  assert.equal(both.length, 2)
  // The recorder fails in each run: the rest of the trail does not wait for it.
  await query('ALTER TABLE one.gh_emissions RENAME COLUMN txid TO other')
  await create('org_44')
  const all = await eventually(list, ({ length }) => length > 2)
  assert.equal(all.length, 3)
})
