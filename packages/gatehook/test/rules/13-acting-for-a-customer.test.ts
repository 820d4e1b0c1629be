/**
 * §13: under `/admin/as/{customer}/{mode}` an operator uses the public endpoints of a customer.
 * Each change is audited with the operator, and a viewer changes nothing.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databases } from '../../../../test/rig/databases.ts'
import { eachService, type TestApp } from '../../../../test/rig/service.ts'
import type { Role } from '../../src/kernel/principal.ts'
import { sql } from '../../src/platform/storage/sql.ts'
import { openFixture } from '../access/permission-fixture.ts'
import { openHook } from '../webhooks/hook.ts'

async function openCustomer({ as, key }: TestApp) {
  const admin = as(await key({ scopes: ['admin'], mode: 'live' }))
  const { id } = (await admin.post('/admin/customers', { name: 'Shop' })).body
  const own = as(await key({ customer: id, mode: 'live' }))
  return { admin, id, own, base: `/admin/as/${id}/live` }
}

const person = { name: 'Ann', email: 'ann@example.com' }

eachService('rows of the customer and mode in the path are read and changed', async (service) => {
  const { admin, own, id, base } = await openCustomer(service)
  const created = await admin.post(`${base}/api/v2/users`, person)
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers.location, `${base}/api/v2/users/${created.body.id}`)
  const path = `/api/v2/users/${created.body.id}`
  assert.deepEqual((await own.get(path)).body, created.body, 'the customer’s key reads the row')
  const read = await admin.get(`${base}${path}`)
  assert.deepEqual(read.body, created.body)
  const stale = await admin.patch(base + path, { name: 'Eve' }, { 'if-match': '"stale"' })
  assert.equal(stale.status, 412)
  const changed = await admin.patch(
    base + path,
    { name: 'Eve' },
    { 'if-match': read.headers.etag! },
  )
  assert.equal(changed.status, 200, changed.text)
  for (const other of [`/admin/as/${id}/test`, '/admin/as/default/live']) {
    assert.equal((await admin.get(`${other}${path}`)).status, 404, other)
  }
  assert.equal((await admin.get(path)).status, 404, 'the key itself is of another customer')
})

eachService('links in responses stay under the prefix', async (service) => {
  const { admin, base } = await openCustomer(service)
  for (const name of ['Ann', 'Bea', 'Cyd']) {
    const row = { name, email: `${name}@example.com` }
    assert.equal((await admin.post(`${base}/api/v2/users`, row)).status, 201)
  }
  const path = `${base}/api/v2/users`
  const { body, headers } = await admin.get(`${path}?pagination=hypermedia&per_page=1`)
  assert.equal(body.data[0]._links.self, `${path}/${body.data[0].id}`)
  assert.match(headers.link!, new RegExp(`<http://[^>]+${path}\\?[^>]+>; rel="next"`))
  const next = await admin.get(body.links.next)
  assert.equal(next.body.data[0].id, body.data[0].id + 1)
  const events = await admin.get(`${base}/events?limit=1`)
  assert.equal(events.body.data[0].type, 'user.created')
  const cursor = await admin.get(`${base}/events?limit=1&cursor=${events.body.next_cursor}`)
  assert.equal(cursor.status, 200, 'cursors are of the customer’s list')
})

eachService('an older version is served, an unknown one is 404', async (service) => {
  const { admin, own, base } = await openCustomer(service)
  const { id } = (await admin.post(`${base}/api/v2/users`, person)).body
  const old = await admin.get(`${base}/api/v1/users/${id}`)
  assert.deepEqual(old.body, (await own.get(`/api/v1/users/${id}`)).body)
  assert.equal(old.headers['x-api-version'], 'v1')
  const unknown = await admin.get(`${base}/api/v9/users/${id}`)
  assert.deepEqual([unknown.status, unknown.body.error], [404, 'unknown_version'])
})

eachService('an idempotency key repeats the response, and changes nothing', async (service) => {
  const { admin, own, base } = await openCustomer(service)
  const key = { 'idempotency-key': 'once' }
  const first = await admin.post(`${base}/api/v2/users`, person, key)
  const again = await admin.post(`${base}/api/v2/users`, person, key)
  assert.deepEqual([again.status, again.text], [first.status, first.text])
  assert.equal(again.headers['idempotent-replayed'], 'true')
  const others = await own.post('/api/v2/users', { ...person, email: 'b@example.com' }, key)
  assert.equal(others.status, 201, 'the customer’s own key is another one')
  const rows = await admin.get('/admin/audit?action=customer.request')
  assert.equal(rows.body.data.length, 1, 'the repeated request is no change')
})

eachService('a change is audited with the caller; a failed one is not', async (service) => {
  const { admin, id, base } = await openCustomer(service)
  const headers = { 'x-request-id': 'acting-1' }
  const created = await admin.post(`${base}/api/v2/users`, person, headers)
  assert.equal(created.status, 201)
  assert.equal((await admin.post(`${base}/api/v2/users`, { ...person, name: 7 })).status, 422)
  assert.equal((await admin.post(`${base}/api/v2/users`, person)).status, 409, 'same address')
  assert.equal((await admin.get(`${base}/api/v2/users`)).status, 200)
  const { body } = await admin.get('/admin/audit?action=customer.request')
  assert.equal(body.data.length, 1)
  const [{ principal, target, detail, request_id }] = body.data
  assert.deepEqual(
    { kind: principal.kind, target, request_id },
    { kind: 'key', target: id, request_id: 'acting-1' },
  )
  assert.deepEqual(detail, { method: 'POST', path: '/api/v2/users', mode: 'live' })
})

eachService('it is no usage of a version', async (service) => {
  const { admin, own, id, base } = await openCustomer(service)
  await admin.get(`${base}/api/v2/users`)
  await service.app.versioning.flush()
  const usage = () =>
    service.app.db.all(sql`SELECT count FROM gh_version_usage WHERE customer = ${id}`)
  assert.deepEqual(await usage(), [])
  await own.get('/api/v2/users')
  await service.app.versioning.flush()
  assert.equal((await usage()).length, 1)
})

eachService('unknown customers, modes and paths are 404', async (service) => {
  const { admin, id, base } = await openCustomer(service)
  const paths = [
    '/admin/as/cus_none/live/webhooks',
    `/admin/as/${id}/prod/webhooks`,
    `${base}/auth/sessions`,
    `${base}/oauth/token`,
    `${base}/admin/keys`,
    `${base}/console/session`,
    `${base}/admin/as/${id}/live/webhooks`,
    `${base}/events/stream`,
    `${base}/`,
    base,
    '/admin/as',
  ]
  for (const path of paths) {
    assert.equal((await admin.get(path)).status, 404, path)
  }
  const method = await admin.put(`${base}/webhooks`, {})
  assert.deepEqual([method.status, method.headers.allow], [405, 'GET, HEAD, POST, OPTIONS'])
})

for (const { name } of databases) {
  test(`a support operator manages webhooks and no rows; a viewer reads [${name}]`, async (t) => {
    const fixture = await openFixture(t, name)
    const { shop, admin, key } = fixture
    const hook = await openHook(t)
    const send: Partial<Record<Role, Awaited<ReturnType<typeof fixture.operator>>>> = {}
    for (const role of ['viewer', 'support'] as const) send[role] = await fixture.operator(role)
    const base = `/admin/as/${shop}/live`
    const registration = { url: hook.url, events: ['*'] }
    const viewed = await send.viewer!('POST', `${base}/webhooks`, registration)
    assert.deepEqual([viewed.status, viewed.body.error], [403, 'insufficient_role'])
    const created = await send.support!('POST', `${base}/webhooks`, registration)
    assert.equal(created.status, 201, created.text)
    assert.ok(!created.body.scopes.includes('admin'), 'it has the scopes of a customer’s key')
    const own = await key(shop)
    const path = `/webhooks/${created.body.id}`
    assert.equal((await send.viewer!('GET', base + path)).status, 200)
    const edit = await own.send('PATCH', path, { url: `${hook.url}/2` })
    assert.equal(edit.status, 200, 'the customer changes the registration of the operator')
    const row = await send.support!('POST', `${base}/api/v2/users`, person)
    assert.deepEqual([row.status, row.body.error], [403, 'insufficient_role'])
    const { body } = await admin.get('/admin/audit?action=customer.request')
    const [{ principal }] = body.data
    assert.deepEqual([body.data.length, principal.name], [1, 'support@example.com'])
  })

  test(`a support operator neither gets nor ends a key with admin [${name}]`, async (t) => {
    const { admin, operator } = await openFixture(t, name)
    const send = await operator('support')
    const input = { name: 'k', scopes: ['admin'] }
    const { body: strong } = await admin.post('/admin/keys', input)
    const rejected: readonly (readonly [method: string, path: string, body?: unknown])[] = [
      ['POST', '/admin/keys', input],
      ['POST', `/admin/keys/${strong.id}/roll`],
      ['PATCH', `/admin/keys/${strong.id}`, { scopes: [] }],
      ['DELETE', `/admin/keys/${strong.id}`],
    ]
    for (const [method, path, body] of rejected) {
      const reply = await send(method, path, body)
      assert.deepEqual([reply.status, reply.body.error], [403, 'insufficient_role'], method)
    }
    const weak = await send('POST', '/admin/keys', { name: 'k', scopes: ['orders:read'] })
    assert.equal(weak.status, 201)
    const widened = await send('PATCH', `/admin/keys/${weak.body.id}`, { scopes: ['admin'] })
    assert.equal(widened.status, 403)
    assert.equal((await send('DELETE', `/admin/keys/${weak.body.id}`)).status, 204)
  })
}
